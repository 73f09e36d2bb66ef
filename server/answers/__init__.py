"""Public answers, kept in memory by what was asked and the revision of the data."""
