"""Codecs: the interface, the catalogue (YAML), the lazy registry and one wrapper module per codec family."""
