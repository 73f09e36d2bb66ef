"""Ingest: an upload is received, checked in a process of its own, made durable, and only then becomes a submission."""
