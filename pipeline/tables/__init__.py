"""Rows of clips and pairs, and the Parquet and JSON files that hold them."""
