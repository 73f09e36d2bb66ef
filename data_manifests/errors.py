"""Exceptions of datasets; each message says what was expected, what came, and what to do."""


class DatasetError(Exception):
    """Base of every error of this package that a user can act on; its text is shown without a traceback."""


class UnknownDataset(DatasetError):
    """No manifest and no folder has this name; the text lists near matches."""


class DatasetNotPrepared(DatasetError):
    """The manifest is known but its audio is not on this machine; the text names the command that fetches it."""


class ManifestError(DatasetError):
    """A manifest or a clip list does not follow the schema; the text names the file and the field."""


class FetchError(DatasetError):
    """A file could not be fetched or has the wrong SHA-256; the text names it and the folder to copy it to by hand."""

    def __init__(self, *reasons: str) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons
        """One reason per index, so that the message for several files can omit repetitions."""


class AudioFileError(DatasetError):
    """A file could not be read as audio; the text says why."""


class LayoutError(DatasetError):
    """A folder does not have its publisher's layout; the text names the file or line, and what was expected there."""
