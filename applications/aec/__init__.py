"""Audio event classification: the sound classes that a model predicts for a clip, before and after a codec."""
