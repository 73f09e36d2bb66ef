"""Make the clip list of a dataset that the user has, and report what was found."""
