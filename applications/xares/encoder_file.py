"""Backend ``encoder-file``: an encoder that was written for XARES-LLM, unchanged, as a backend of frames."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch

from codec_superb.applications.embed.frames import FrameBackend, Frames
from codec_superb.applications.errors import ApplicationError, PredictionFailed
from codec_superb.applications.interface import Model, Samples, Setting
from codec_superb.applications.xares.encoder_contract import encode, find_encoder, make_encoder

NAME = "encoder-file"
_SECONDS = 4
"""Length of the sound by which frames a second are measured."""


class EncoderFile(FrameBackend):
    """``encoder-file:path/to/file.py[:NAME][,arguments=FILE.json]``, or ``encoder-file:package.module:NAME``.

    Each sound is encoded alone, with a mask of ones; the frames that the returned mask leaves out are cut.
    """

    defaults: ClassVar[Mapping[str, Setting]] = {"arguments": ""}

    def prepare(self) -> Model:
        """Make the encoder once, and return the hash of its code and weights. Raises ApplicationError."""
        if not self.chosen:
            raise ApplicationError(f"{NAME}: expected a file, such as {NAME}:my_encoder.py")
        encoder = self._made()
        frames, _ = encode(encoder, torch.zeros(1, _SECONDS * self.rate), None)
        settings: dict[str, Setting] = {"hop_s": _SECONDS / frames.shape[1], "output_dim": int(frames.shape[2])}
        return Model(f"{NAME}:{find_encoder(self.chosen).__name__}", self._digest(encoder), settings)

    def load(self, model: Model, device: str, threads: int) -> None:  # noqa: ARG002 -- its file says it all
        """Make the encoder on a device."""
        from codec_superb.applications.torch_setup import set_up_torch

        set_up_torch(threads)
        self._device = device
        self._encoder = self._made().to(device)

    def frames(self, samples: Samples) -> Frames:
        """Return the frames that count."""
        audio = torch.from_numpy(np.array(samples, np.float32))[None].to(self._device)
        try:
            found, kept = encode(self._encoder, audio, torch.ones_like(audio, dtype=torch.long))
        except ApplicationError as error:
            raise PredictionFailed(str(error)) from error
        if kept is not None and not bool(kept.any()):
            raise PredictionFailed(f"the encoder's mask keeps none of {found.shape[1]} frames")
        own = found[0] if kept is None else found[0][kept[0].bool()]
        frames: Frames = own.float().cpu().numpy()
        return frames

    def close(self) -> None:
        """Release the encoder."""
        del self._encoder

    def _made(self) -> torch.nn.Module:
        given = str(self.options["arguments"])
        torch.manual_seed(0)  # weights that its file does not load are the same each time
        return make_encoder(self.chosen, Path(given) if given else None)

    def _digest(self, encoder: torch.nn.Module) -> str:
        digest = hashlib.sha256()
        place = self.chosen.partition(":")[0]
        file = place if place.endswith(".py") else getattr(sys.modules[place], "__file__", None)
        if file:
            digest.update(Path(file).expanduser().read_bytes())
        if given := str(self.options["arguments"]):
            digest.update(json.dumps(json.loads(Path(given).read_text()), sort_keys=True).encode())
        for name, value in sorted(encoder.state_dict().items()):
            digest.update(name.encode() + np.ascontiguousarray(value.detach().cpu().float().numpy()).tobytes())
        return digest.hexdigest()
