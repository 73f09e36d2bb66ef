"""Who may do what: tokens, sessions of moderators, rate limits, the audit log."""
