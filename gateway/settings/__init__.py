"""Settings: their types, their defaults, and where they come from."""
