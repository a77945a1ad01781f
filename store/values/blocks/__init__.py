"""Blocks of dictionaries."""
