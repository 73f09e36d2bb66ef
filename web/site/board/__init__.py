"""The page ``/``: the leaderboard."""
