"""What belongs to the hub's thread: views, feeds, jobs for the pool, and subscribers that wait for messages."""
