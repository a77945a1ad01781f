"""From EDN forms to the syntax tree of a query."""
