"""Clip lists in Parquet, which are opened without being read."""
