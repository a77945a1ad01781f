"""What the root fields do: queries, pulls, transactions."""
