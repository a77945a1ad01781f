"""GenericJoin: the extender protocol, its step, its connectives, and the threads that drive it."""
