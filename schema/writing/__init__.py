"""Answers as JSON bytes, a column at a time, within one budget."""
