"""The import's transaction: loading a mapping, fitting a decision to a later state, streaming batches."""
