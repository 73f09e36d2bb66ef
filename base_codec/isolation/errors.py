"""Exceptions of private environments and the workers inside them."""

from __future__ import annotations

from codec_superb.base_codec.errors import CodecError, CodecUnusable, CodingFailed


class EnvironmentFailed(CodecError):
    """A private environment cannot be built; the text shows the end of the installer's output and what to do."""


class HandshakeFailed(CodecUnusable):
    """The program in the environment does not speak this protocol, or another version of it."""


class WorkerDied(CodingFailed):
    """The worker crashed, hung, was killed or ran out of memory; the text has the end of its standard error."""


class GuestFailed(CodingFailed):
    """The guest's package raised an exception; the worker keeps running."""
