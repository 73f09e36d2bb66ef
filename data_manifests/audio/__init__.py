"""Audio files: read them, check them, cut and store their samples exactly."""
