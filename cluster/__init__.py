"""A Spark session and its jobs: what queries on Spark and the data pipeline share."""

assert __name__ == "adalog.cluster", "import adalog.cluster"
