"""The page that compares codecs."""
