"""The isolated runtime: codecs and models whose packages get an environment of their own, and a worker inside it."""
