"""Files as rows, the same way in every process: what a row means never depends on other rows."""
