"""The language: EDN, values and their order, queries, built-ins and every domain error."""
