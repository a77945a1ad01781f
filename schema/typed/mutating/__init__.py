"""Typed mutations: inputs as transactions, and their payloads."""
