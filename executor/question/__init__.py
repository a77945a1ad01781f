"""A request made ready: its text parsed, its arguments settled and bound to codes."""
