"""Why a row is in an answer: a derivation with one witness for each clause, or the clause that nothing passes."""
