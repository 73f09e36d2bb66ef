"""HTTP: headers, compression, errors, limits, logs and static files of every request."""
