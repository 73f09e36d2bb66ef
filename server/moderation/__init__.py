"""Moderation: decisions which submissions are public, their reasons, and plausibility warnings."""
