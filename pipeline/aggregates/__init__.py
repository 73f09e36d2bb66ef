"""From clip rows to results: means, scores and application metrics with counts and intervals."""
