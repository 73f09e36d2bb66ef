"""A board of the runs on this machine: a folder is watched, and what it holds is stored as uploads are."""
