"""Aggregates clip rows into results: means, scores and application metrics with counts and intervals."""
