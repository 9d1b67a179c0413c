"""Pure functions from tables to figures, one module per view. No Dash, no HTTP, no state."""
