"""Transaction data with values that came as JSON or from Python: what they mean by the schema."""
