"""The page of charts."""
