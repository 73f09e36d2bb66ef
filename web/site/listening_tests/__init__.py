"""Pages of listening tests: the list, before the test, a trial, and the results."""
