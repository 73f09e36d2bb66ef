"""Audio files: read and check them, cut and store their samples without loss."""
