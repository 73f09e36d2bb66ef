"""Wrappers, one module per codec library; imported by the registry only when a codec of theirs is used."""
