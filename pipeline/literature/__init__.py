"""Published figures, as data of the package: shown beside submissions, never mixed with them, never re-run here."""
