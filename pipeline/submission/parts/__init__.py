"""Submissions whose rows lie in several files beside the one that describes them."""
