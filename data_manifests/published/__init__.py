"""Datasets that a publisher offers to everybody: what fetching one takes, fetching, unpacking, and suites of them."""
