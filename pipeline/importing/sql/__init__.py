"""Tables of SQL databases as sources: what a mapping says of one, how Spark reads it, and how far it was read."""
