"""The page of the tasks of understanding."""
