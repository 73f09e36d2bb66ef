"""The isolated runtime: codecs whose packages get a Python environment of their own, and a worker inside it."""
