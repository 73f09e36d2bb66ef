"""Measures by name: pure functions from an answer and its clip to the numbers that are kept."""
