"""One module per command; heavy imports are inside the command functions, so that ``--help`` is quick."""
