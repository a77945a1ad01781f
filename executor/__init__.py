"""Running plans: extenders, kernels, the generic join, aggregates and the pool."""

assert __name__ == "adalog.executor", "import adalog.executor"
