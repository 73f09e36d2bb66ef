"""The page of tokens and its charts."""
