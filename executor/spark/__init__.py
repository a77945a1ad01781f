"""Queries on Spark: the same join, its first prefixes shared out over workers that map the same snapshot."""
