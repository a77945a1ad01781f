"""Subscriptions: who follows which query, and what has happened to its answer since."""
