"""The third stage: application models predict on reference and resynthesis, and the predictions are scored."""
