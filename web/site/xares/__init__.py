"""The page of XARES: encoders beside codecs by task, and the published boards apart."""
