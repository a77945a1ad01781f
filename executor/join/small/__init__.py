"""Small joins: as programs that one kernel runs from the first batch as far as it can, before the columnar join."""
