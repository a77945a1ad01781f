"""From a checked query to a plan: scope, statistics, variable order, extender tree, explain."""

assert __name__ == "adalog.planner", "import adalog.planner"
