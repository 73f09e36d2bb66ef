"""Published figures as package data: shown beside submissions, never mixed with them, not measured by this program."""
