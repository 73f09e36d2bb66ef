"""The third stage: application models answer for reference and resynthesis, and the answers are scored."""
