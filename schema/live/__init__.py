"""Subscriptions: their root fields and their streams of messages."""
