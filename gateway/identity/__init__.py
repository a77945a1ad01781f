"""Authentication: bearer tokens, JSON Web Tokens, the user at the other end of a connection."""
