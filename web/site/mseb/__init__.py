"""The page of MSEB's super tasks: codecs by themselves, published encoders by themselves."""
