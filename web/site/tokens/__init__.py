"""The page of tokens: how many, how stable, how predictable."""
