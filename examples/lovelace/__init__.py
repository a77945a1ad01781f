"""A family of six and what may be asked about it: `or`, `and` and `not`."""
