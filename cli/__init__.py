"""The command line ``codec-superb``: one module per command, thin."""
