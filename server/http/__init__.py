"""HTTP infrastructure: headers, compression, error answers, body limits, request logs, caches and static files."""
