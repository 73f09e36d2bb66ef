"""Operation of the service: health checks, meters, logs, backups, preparation of database and storage."""
