"""From rows to answers: aggregates, order, decoded columns."""
