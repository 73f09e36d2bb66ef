"""Signal metrics: pure functions on arrays, the metric table, the overall score."""
