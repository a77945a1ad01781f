"""Spark's data source `adalog`: other programs read datoms and answers of a data folder as data frames."""
