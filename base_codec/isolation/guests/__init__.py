"""Guests: one module per codec family, run inside its private environment; none imports this package."""
