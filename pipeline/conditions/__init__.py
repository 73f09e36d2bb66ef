"""Conditions: what happens to the sound before the codec, or to the payload before the decoder."""
