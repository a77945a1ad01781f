"""What a process has of the system: descriptors, memory, its end."""
