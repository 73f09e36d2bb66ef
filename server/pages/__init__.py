"""Pages that explain: datasets, metrics, what the numbers are, the API; and the way all public pages are answered."""
