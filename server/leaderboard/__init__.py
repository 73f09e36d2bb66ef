"""The leaderboard: public results in memory, what a visitor chose of them, finished answers, exports and its API."""
