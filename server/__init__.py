"""The leaderboard service: ingest, moderation, database, JSON API and pages; installs and starts without torch."""
