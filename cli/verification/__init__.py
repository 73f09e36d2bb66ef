"""The worker that runs submissions again, and the keys of boards whose attestations are checked."""
