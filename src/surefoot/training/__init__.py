"""Training: one step, written once, and what drives it."""
