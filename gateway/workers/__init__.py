"""Several processes behind one port, over one database: a supervisor, and workers that each are a whole gateway."""
