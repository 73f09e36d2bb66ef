"""Guests of probes: run inside private environments by the isolated runtime, where this package is not installed."""
