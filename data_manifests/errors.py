"""Exceptions of datasets; each message says what was expected, what came, and what to do."""

from __future__ import annotations

from pathlib import Path


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


class WriteError(FetchError):
    """What was fetched could not be written here; fetching it by hand would not help."""

    def __init__(self, target: Path, error: OSError) -> None:
        super().__init__(
            f"cannot write {target}: {error.strerror or error}; make room there or name another place, and run the "
            "same command again: it goes on with what has come"
        )


class AudioFileError(DatasetError):
    """A file could not be read as audio; the text says why."""


class ObjectError(AudioFileError):
    """An object of a store is not there, has changed, is truncated or cannot be had; other objects can."""


class MissingObject(ObjectError, FileNotFoundError):
    """There is no object of that name."""


class StoreError(DatasetError):
    """A store gives nothing at all: it does not answer, or refuses who asks. The same for every clip."""


class LayoutError(DatasetError):
    """A folder does not have its publisher's layout; the text names the file or line, and what was expected there."""
