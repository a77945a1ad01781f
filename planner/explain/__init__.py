"""Plans as text and as data."""
