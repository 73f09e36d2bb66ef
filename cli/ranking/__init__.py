"""What ``bench`` says of the ranking: live while clips are scored, and in three sentences at its end."""
