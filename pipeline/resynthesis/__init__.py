"""The first stage: a codec encodes and decodes every clip of a dataset, and the result is stored."""
