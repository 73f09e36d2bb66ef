"""Datasets that submissions are checked against: the known datasets of this leaderboard and their states."""
