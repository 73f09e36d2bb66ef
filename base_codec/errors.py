"""Exceptions of codecs; each message says what was expected, what came, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


def called_exit(error: SystemExit) -> str:
    """Say what a user's code did that ended itself, which would end the program's process."""
    code = "" if error.code is None else repr(error.code)
    return f"called sys.exit({code}): raise an error that says why, or `return`"


class CodecError(Exception):
    """Base of every error of this package that a user can act on; its text is shown without a traceback."""


class UnknownCodec(CodecError):
    """No codec has this name; the text lists near matches."""


class MissingDependency(CodecError):
    """The codec's packages are not installed; the text is the exact install command."""


class RefusedSetting(CodecError):
    """A bitrate, rate or channel count that the codec does not have; the text lists what it has."""


class CodingFailed(CodecError):
    """The codec could not encode or decode this audio; the text says why."""


@contextmanager
def exit_fails(what: str) -> Iterator[None]:
    """Turn an exit that the code of ``what`` calls into CodingFailed: it costs a clip, never the process."""
    try:
        yield
    except SystemExit as error:
        raise CodingFailed(f"{what} {called_exit(error)}") from error


class CodecUnusable(CodecError):
    """The codec can code no further clip, which ends the run; the text says what to fix."""


class CatalogueError(CodecError):
    """A catalogue file does not follow its form, or two of them claim one name; the text shows both targets."""


class CardError(CatalogueError, ValueError):
    """A card was made with a field that is missing, unknown or wrong; the text has a sentence for each."""


class MissingWeights(CodecError):
    """The codec's trained weights were not found; the text names the files, the command and the folder."""
