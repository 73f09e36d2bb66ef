"""Seeded noise: the same random numbers on every machine, and noise at a level."""
