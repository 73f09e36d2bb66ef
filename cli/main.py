"""The entry point of ``codec-superb``: runs a command and turns errors into one message and an exit code.

Exit codes: 0 everything requested was done; 2 it could not be started (wrong name, missing file, bad option);
3 it ran, and some clips failed or a file has faults; 130 stopped by Ctrl-C (128 + SIGINT, as in POSIX shells);
1 a fault of this program.

Only the standard library is imported before Ctrl-C is handled: importing the commands takes a tenth of a second, and
an interrupt during that time must not show a traceback. Errors are imported when there is one.
"""

from __future__ import annotations

import errno
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typer.core import TyperGroup

CANNOT_START, STOPPED = 2, 130
_SHOW = warnings.showwarning
ENVIRONMENT = frozenset({
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ENOTDIR,
    errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP, errno.EMFILE, errno.ENFILE, errno.ETXTBSY,
})  # fmt: skip
"""Errors that the user can fix: disks, permissions and names. Any other OSError is a fault of this program."""


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with its exit code."""
    sys.exit(call(sys.argv[1:] if arguments is None else arguments))


def call(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    try:
        code = _call(arguments)
    except KeyboardInterrupt:
        code = STOPPED
    if code == STOPPED:  # Typer turns most interrupts into this exit code without a message
        sys.stderr.write("\ncodec-superb: stopped; run the same command again to continue\n")
    return code


def _warn(message: Warning | str, category: type[Warning], *place: Any) -> None:
    """Say what is wrong with a plug-in in one line; other warnings are for developers."""
    from codec_superb.plugins import PluginWarning

    if issubclass(category, PluginWarning):
        sys.stderr.write(f"codec-superb: {message}\n")
    else:
        _SHOW(message, category, *place)


@cache
def _group() -> TyperGroup:
    """Return all commands; their parameters are read from 100 signatures, 0.08 s once in a process."""
    from typer.main import get_group

    from codec_superb.cli.app import app

    return get_group(app)


def _call(arguments: Sequence[str]) -> int:
    """Run the command line; a KeyboardInterrupt outside of Typer's own handling propagates."""
    from codec_superb.cli.arguments import repeat_option_names

    warnings.showwarning = _warn  # type: ignore[assignment]  # the places are passed on
    try:
        group = _group()
        group(args=repeat_option_names(arguments, group), prog_name="codec-superb")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except KeyboardInterrupt:  # before the next line but one is evaluated, which imports for a fifth of a second
        raise
    except _user_errors() as error:
        from codec_superb.data_manifests.objects.urls import without_secrets

        sys.stderr.write(f"codec-superb: {without_secrets(str(error))}\n")
        return CANNOT_START
    except BrokenPipeError:
        sys.stderr.close()  # the reader of the pipe is gone; Python would report a failed flush at exit
        return 1
    except OSError as error:
        if error.errno not in ENVIRONMENT:
            raise
        name = error.filename if error.filename2 is None else error.filename2  # filename2: the target of a rename
        place = "" if name is None else f" {str(name)!r}"
        sys.stderr.write(f"codec-superb: system error{place}: {error.strerror}; finished work is kept\n")
        return CANNOT_START
    return 0


def _user_errors() -> tuple[type[Exception], ...]:
    """Return the errors whose text is for the user."""
    from codec_superb.applications.errors import ApplicationError
    from codec_superb.base_codec.errors import CodecError
    from codec_superb.cli.arguments import RepeatedOption
    from codec_superb.data_manifests.errors import DatasetError
    from codec_superb.metrics.errors import MetricError
    from codec_superb.pipeline.errors import PipelineError
    from codec_superb.plugins import PluginError
    from codec_superb.server.errors import OperationError, ServerError
    from codec_superb.web.errors import WebError

    return (
        ApplicationError, CodecError, DatasetError, MetricError, PipelineError, OperationError, RepeatedOption,
        PluginError, ServerError, WebError,
    )  # fmt: skip
