"""Placeholders for excised values in dictionaries."""
