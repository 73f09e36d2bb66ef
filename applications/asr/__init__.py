"""Speech recognition: what a recogniser still understands, as word or character error rate."""
