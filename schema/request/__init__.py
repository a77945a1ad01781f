"""What one request has, whatever it asks: limits, budget, context, cursors, errors, waiting."""
