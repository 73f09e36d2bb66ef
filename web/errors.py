"""Errors of pages and reports: each text says what was expected, what came, and what to do."""


class WebError(Exception):
    """Base of every error of this package that a user can act on; its text is shown without a traceback."""


class ReportError(WebError):
    """The data of a report contradict each other or the metric table."""


class PaperError(WebError):
    """A table or a figure for a paper cannot be made as it was asked for."""
