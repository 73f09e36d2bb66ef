"""Training of small models on this machine: one loop, whose states on disk survive a kill, for all that is trained."""
