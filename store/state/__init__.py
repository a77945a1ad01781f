"""The state that transactions are resolved against, and its limits and modes."""
