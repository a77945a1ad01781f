"""Values as int64 codes, attributes and the schema of one moment."""
