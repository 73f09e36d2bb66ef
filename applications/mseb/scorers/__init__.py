"""Scorers of the super tasks: what is kept of each clip, from the answers on both sides and the collections."""
