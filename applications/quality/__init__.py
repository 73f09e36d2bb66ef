"""Predicted quality of speech and audio: DNSMOS, DistillMOS, UTMOS, ViSQOL, WARP-Q."""
