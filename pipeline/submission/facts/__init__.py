"""What is known of the clips of a dataset whatever a submission says, and the checks against it."""
