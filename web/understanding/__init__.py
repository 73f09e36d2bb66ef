"""Tasks of understanding on resynthesised sound: which rows stand for them, and bitrate."""
