"""Batch scripts of arrays of tasks, for clusters."""
