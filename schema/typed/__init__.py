"""The typed surface: GraphQL types, fields and mutations made from declared attributes."""
