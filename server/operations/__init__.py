"""Keeping the service running: health, meters, logs, backups."""
