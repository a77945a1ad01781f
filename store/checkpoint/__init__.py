"""Checkpoints: folding what is young into segments, and opening a database from them."""
