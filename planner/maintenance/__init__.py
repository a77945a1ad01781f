"""What to join when something changed, for answers and derived relations that are kept up to date: plain data."""
