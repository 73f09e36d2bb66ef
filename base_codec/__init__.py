"""Codecs: the contract, the catalogue (data), the lazy registry and one wrapper module per family."""
