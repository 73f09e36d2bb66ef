"""The submission file: its schema, how runs are packed into it, and how a stranger's file is checked."""
