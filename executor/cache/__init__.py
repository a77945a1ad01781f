"""Answers that were given on the same data: in this process, and in Redis."""
