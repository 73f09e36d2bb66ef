"""Encoders: sound to one vector a clip, to frames, or to discrete units."""
