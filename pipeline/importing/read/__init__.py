"""Rows of files as typed columns of codes."""
