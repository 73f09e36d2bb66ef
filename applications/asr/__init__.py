"""Speech recognition: word or character error rate of a recogniser before and after a codec."""
