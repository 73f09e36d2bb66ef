"""The leaderboard's pages: one frame, one template a page, assets with their hash in the name."""
