"""Excisions as transactions ask for them."""
