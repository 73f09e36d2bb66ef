"""X-ARES: what simple classifiers read out of a frozen encoder, before and after a codec."""
