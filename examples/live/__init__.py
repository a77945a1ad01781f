"""A page without a build step that follows Debian's package graph; the gateway serves it at /examples/live/."""
