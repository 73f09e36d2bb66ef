"""All public results in memory: read from the database, ranked, replaced when the data change."""
