"""The explorer at /graphql: GraphiQL and what it needs."""
