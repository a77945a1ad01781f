"""Compiled loops over columns of codes: ranges, rows, groups, sums."""
