"""The library's way to a served adalog: GraphQL over HTTP."""
