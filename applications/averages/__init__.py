"""Figures over several datasets or probes, computed from single figures and never from clips."""
