"""Authentication and authorisation: API tokens, moderators' sessions, rate limits, the audit log."""
