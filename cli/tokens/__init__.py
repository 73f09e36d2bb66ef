"""What `tokens show` says, and what `tokens lm` asks and prints."""
