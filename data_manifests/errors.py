"""What can go wrong with datasets: each error says what was expected, what came, and what to do."""


class DatasetError(Exception):
    """Base of every error of this package that a user can act on; its text is shown without a traceback."""


class UnknownDataset(DatasetError):
    """No manifest and no folder has this name; the text lists near matches."""


class DatasetNotPrepared(DatasetError):
    """The manifest is known but its audio is not on this machine; the text names the command that fetches it."""


class ManifestError(DatasetError):
    """A manifest or a clip list does not follow the schema; the text names the file and the field."""


class FetchError(DatasetError):
    """A file could not be fetched or has the wrong SHA-256; the text says which, and where it can be put by hand."""

    def __init__(self, *reasons: str) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons
        """One for each index that was asked, so that those of several files can be told without repetition."""


class AudioFileError(DatasetError):
    """A file could not be read as audio; the text says why."""
