"""The bodies that read what changed: for rounds of a recursion and for steps of a live answer."""
