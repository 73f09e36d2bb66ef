"""The page of one codec."""
