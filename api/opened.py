"""``open_codec``: a codec as a callable on arrays."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from codec_superb.api.arrays import Sound, as_channels
from codec_superb.api.given import check_device
from codec_superb.api.live import device_for, generators_kept, modules_of
from codec_superb.api.progress import bars
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.interface import Codec, Encoded
from codec_superb.base_codec.options import DEFAULT_OPTIONS, CodecOptions, Dtype
from codec_superb.pipeline.workers.devices import Device


class OpenedCodec:
    """A codec that is ready: ``codec(audio, rate)`` is the resynthesis.

    Sound is floating point in [-1, 1], ``(samples,)`` or ``(channels, samples)``, numpy or torch, with its rate in Hz.
    """

    def __init__(self, codec: Codec, name: str | None = None) -> None:
        self.codec = codec
        self.name = name
        """As the registry knows it; None for an object, and for a codec with other weights or precision."""

    @property
    def card(self) -> Card:
        """What is known of the codec."""
        return self.codec.card

    def __call__(self, audio: Sound, rate: int) -> Sound:
        """Return the resynthesis: of the same length, rate, kind and number of axes.

        Raises CodingFailed for sound that cannot be coded, InvalidAudio for what is no sound.
        """
        samples, form = as_channels(audio)
        return form.back(self.codec.decode(self.codec.encode(samples, rate)))

    def encode(self, audio: Sound, rate: int) -> Encoded:
        """Return payload (bytes or tokens) and its size in bits. Raises as calling it."""
        return self.codec.encode(as_channels(audio)[0], rate)

    def decode(self, encoded: Encoded) -> Sound:
        """Return float32 ``(channels, samples)``, numpy, at the rate and of the length of what was encoded."""
        return self.codec.decode(encoded)

    def close(self) -> None:
        """Free what it holds, such as a process of its own; it may not be used afterwards."""
        self.codec.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<codec {self.card.name}: {self.card.title}>"


@generators_kept()
def open_codec(
    codec: object,
    *,
    device: Device = "auto",
    weights: str | None = None,
    dtype: Dtype = "float32",
    progress: bool = True,
) -> OpenedCodec:
    """Open a codec by name, by ``path/to/file.py:NAME``, or one that is given as an object (see ``evaluate``).

    A torch module stays on its device, and is in evaluation mode from then on.
    Raises UnknownCodec with near matches, MissingDependency with the command that installs what is missing,
    MissingWeights; an environment of its own is built where the codec needs one.
    """
    from codec_superb.base_codec import registry
    from codec_superb.base_codec.adapting import as_codec
    from codec_superb.pipeline.resynthesis.readiness import make_ready
    from codec_superb.pipeline.workers.devices import chosen_device, refuse_device

    if isinstance(codec, OpenedCodec):
        return codec
    check_device(device)
    if not isinstance(codec, str | Path):
        on = device_for(modules_of(codec), device)
        made = as_codec(codec, device=on)
        return OpenedCodec(made if isinstance(codec, Codec) else made.load(on))
    name = str(codec)
    options = CodecOptions(weights, dtype)
    refuse_device(device, [registry.card(name)])
    with bars(shown=progress) as bar:
        make_ready([name], options, device, bar)
        _, configured = registry.configure(name, options)
    opened = registry.open_codec(name, chosen_device(name, device), configured)
    return OpenedCodec(opened, name if options == DEFAULT_OPTIONS else None)
