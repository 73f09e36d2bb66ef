"""Chat ``minicpm-o``: MiniCPM-o 2.6 in a private environment, since its code needs transformers 4.44.

Names of files are those of the publisher's repository; decoding is that of UltraEval-Audio's registry: 5 beams, at
most 128 new tokens, no sampling. Never run with published weights.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

from codec_superb.applications.embed.options import read_options
from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.interface import Model, Setting
from codec_superb.applications.isolated.backend import GUESTS, package_of
from codec_superb.applications.understanding.chats.chat_checkpoint import find_chat
from codec_superb.applications.understanding.chats.families import DTYPES, Family
from codec_superb.applications.understanding.chats.isolated_chat import IsolatedChat
from codec_superb.base_codec.card import Isolation
from codec_superb.base_codec.isolation.lock import open_lock

NAME = "minicpm-o"
DEFAULTS: dict[str, Setting] = {"max_new_tokens": 128, "num_beams": 5, "dtype": "bfloat16"}
_FILES = (
    "configuration_minicpm.py", "image_processing_minicpmv.py", "modeling_minicpmo.py", "modeling_navit_siglip.py",
    "processing_minicpmo.py", "resampler.py", "tokenization_minicpmo_fast.py", "utils.py", "preprocessor_config.json",
    "tokenizer.json", "tokenizer_config.json",
)  # fmt: skip
FAMILIES = {"minicpmo": Family("minicpm_o", "minicpmo", "MiniCPMO", "MiniCPMOProcessor", longest_s=300.0, files=_FILES)}
_COMMIT = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}")


class MiniCPMo(IsolatedChat):
    """``minicpm-o:OWNER/NAME@COMMIT``, ``minicpm-o:DIR`` or ``--weights DIR``; options: ``…,num_beams=1``."""

    isolation: ClassVar[Isolation] = Isolation(lock="minicpm-o", guest=str(GUESTS / "minicpm_o.py"), timeout_s=1800.0)
    longest_s = FAMILIES["minicpmo"].longest_s
    on_cuda = True

    @property
    def family(self) -> str:
        """Whose prompts it is asked with."""
        return "minicpm_o"

    def prepare(self) -> Model:
        """Find the files, then build the environment. Raises MissingModel, MissingPackage, ApplicationError."""
        self._options()
        return super().prepare()

    def find(self, python: Path) -> Model:  # noqa: ARG002 -- the files are found without its packages
        """Find the folder, or the files of one commit of a hub repository."""
        given, options = self._options()
        found = find_chat(given, NAME, FAMILIES)
        settings = {"package": package_of(open_lock(self.isolation.lock), "transformers"), **options}
        return Model(f"{NAME}:{found.source}", found.sha256, settings, found.folder, found.random)

    def describe(self, model: Model, threads: int) -> dict[str, Any]:
        """Describe folder, precision, decoding and threads for the guest."""
        decoding = {name: model.settings[name] for name in ("max_new_tokens", "num_beams")}
        return {
            "weights": str(model.path), "dtype": model.settings["dtype"], "decoding": decoding, "threads": threads,
        }  # fmt: skip

    def _options(self) -> tuple[str, dict[str, Setting]]:
        """Return the folder or repository and the options. Raises ApplicationError."""
        name, options = read_options(self.variant, DEFAULTS)
        if options["dtype"] not in DTYPES or min(int(options["max_new_tokens"]), int(options["num_beams"])) < 1:
            raise ApplicationError(
                f"{NAME}: expected dtype={' or '.join(DTYPES)}, max_new_tokens and num_beams from 1, got {options}"
            )
        given = str(self.weights) if self.weights is not None else name
        if not _COMMIT.fullmatch(given) and not Path(given or "/nowhere").expanduser().is_dir():
            raise ApplicationError(
                f"{NAME}: code of the repository is run, so name what you read: a folder, or OWNER/NAME@COMMIT with 40 "
                f"digits, got {given or 'nothing'}"
            )
        return given, options
