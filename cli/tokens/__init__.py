"""What `tokens show` says."""
