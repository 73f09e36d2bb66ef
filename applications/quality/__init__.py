"""Predicted opinions of listeners: DNSMOS, DistillMOS, UTMOS, ViSQOL, WARP-Q."""
