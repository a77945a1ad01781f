"""GraphQL arguments as the engine wants them."""
