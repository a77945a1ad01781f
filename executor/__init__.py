"""Running plans: extenders, kernels, the generic join, aggregates and the pool."""
