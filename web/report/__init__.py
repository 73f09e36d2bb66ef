"""The report: everything about one benchmark in a single HTML file that needs no network."""

from codec_superb.web.report.page import render

__all__ = ["render"]
