"""Calls of built-ins, nested and conditional, over columns of codes. They know neither plans nor joins."""
