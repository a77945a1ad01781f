"""The data pipeline: imports, exports, and folds of what is too large for one process."""

assert __name__ == "adalog.pipeline", "import adalog.pipeline"
