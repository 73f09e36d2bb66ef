"""Probes: what survives for recognisers, verifiers and listeners; each is a model backend plus pure scoring."""
