"""Ingest: an upload is received, checked in a separate process, made durable, and then recorded as a submission."""
