"""The command line ``codec-superb``: one module per command, which parses options and calls the library."""
