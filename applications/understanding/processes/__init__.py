"""Post-processors: pure functions from an answer to the part of it that is measured, by name."""
