"""Audio event classification: which sounds a model hears in a clip, before and after a codec."""
