"""Datasets that submissions are checked against: which states of which datasets this leaderboard knows."""
