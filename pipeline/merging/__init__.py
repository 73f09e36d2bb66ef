"""Shards of a run become the run: found, compared, joined; the result is that of one machine, bit for bit."""
