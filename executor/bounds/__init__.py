"""What bounds a run: its deadline, its cancel flag, the bytes that it holds, and whose it is."""
