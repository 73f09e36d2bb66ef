"""Texts as measures compare them: numbers in words, tokens, compatible normalisers."""
