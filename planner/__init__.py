"""From a checked query to a plan: scope, statistics, variable order, extender tree, explain."""
