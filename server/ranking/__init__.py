"""What the board says about order: bitrate bands, ranks aggregated over datasets and applications, weights."""
