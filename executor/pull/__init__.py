"""Pulls: entities as maps, one level of a pattern at a time."""
