"""Sounds of listening tests: conditions, anchors and gold questions of equal length and size."""
