"""The GraphQL surface: types, fields, values as JSON. Knows the store and the executor, nothing of HTTP."""

assert __name__ == "adalog.schema", "import adalog.schema"
