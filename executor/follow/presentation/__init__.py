"""What a live query shows of its rows: a window of them, in order, and entities as maps."""
