"""The language: EDN, values and their order, queries, built-ins and every domain error."""

assert __name__ == "adalog.datalog", "import adalog.datalog"
