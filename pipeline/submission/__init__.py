"""The submission file: its schema, how runs are packed into it, and how an untrusted file is checked."""
