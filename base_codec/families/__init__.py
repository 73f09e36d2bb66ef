"""Codec wrappers, one module per library; the registry imports a module only when one of its codecs is used."""
