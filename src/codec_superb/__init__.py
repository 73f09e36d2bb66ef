"""Codec-SUPERB: how much of what matters in a sound survives a codec at a bitrate."""

__version__ = "0.1.0"
