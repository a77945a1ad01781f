"""Sorted columns of codes: tries, their levels of signed pairs, and how they are stored."""
