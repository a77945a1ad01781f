"""A graph of six vertices and the triangles in it: the smallest case of a cyclic join."""
