"""The first stage: a codec encodes and decodes every clip of a dataset, and the resyntheses are stored."""
