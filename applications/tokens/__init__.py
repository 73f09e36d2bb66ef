"""Tokens as a language model meets them: where they come from, how stable and how predictable they are."""
