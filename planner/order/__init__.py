"""The order in which a join binds its variables, and the statistics that it is chosen by."""
