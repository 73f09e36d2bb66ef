"""What ``codec-superb verify-worker`` can do: kind of a job to the function that does it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from codec_superb.cli.verification.private_job import run_private
from codec_superb.cli.verification.verify_job import run_verify
from codec_superb.cli.verification.worker import Handler

HANDLERS: Mapping[str, Handler] = MappingProxyType({"verify": run_verify, "private": run_private})
