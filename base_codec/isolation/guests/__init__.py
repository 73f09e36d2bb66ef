"""Guests: one module a family, run inside its private environment; none imports anything of this package."""
