"""A GraphQL gateway over a live Datalog database. The packages are links to the folders of the repository (ADR 28)."""
