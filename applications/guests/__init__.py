"""Guests of probes: run inside private environments by the isolated runtime; none imports anything of this package."""
