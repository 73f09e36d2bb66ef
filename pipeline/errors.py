"""Exceptions of runs and submissions; each message says what was expected, what came, and what to do."""


class PipelineError(Exception):
    """Base of every error of this package that a user can act on; its text is shown without a traceback."""


class RunFolderError(PipelineError):
    """A run folder is missing, incomplete, of another format version, or was written by another specification."""


class ClipTableError(PipelineError):
    """A ``clips.parquet`` does not follow the layout of clip rows; the text names the column or the row."""


class SubmissionError(PipelineError):
    """A submission file does not hold what it says."""


class PartsError(SubmissionError):
    """A file that holds some rows of a submission is not where it should be, or another one; the text says which."""


class NoRoom(PipelineError):
    """A disk, a quota or a limit has no room for a file: later there may be some."""


class InUse(PipelineError):
    """Another process is working on the run: later it may be free."""
