"""Facts that rules derive, and how they grow."""
