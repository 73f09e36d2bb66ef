"""Base class of the codecs that run in transformers: loading, precision, batches, long clips, bit counts.

A family defines how its model turns a batch of audio into tokens and back; clips are first padded with silence to
whole frames. The model is built from the checkpoint's own configuration, which must agree with the card: sampling
rate, channels, frame length, codebooks. A checkpoint that lacks a parameter is refused; transformers would initialise
it at random.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from typing import Any, ClassVar, Self

import numpy as np
import safetensors
import torch
import transformers
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodingFailed, MissingWeights, RefusedSetting
from codec_superb.base_codec.families.batching import Chunking, cut, groups, spans
from codec_superb.base_codec.families.latents import recorded
from codec_superb.base_codec.families.paging import page_out
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.interface import CheckpointCodec, Latents, Packets
from codec_superb.base_codec.options import Dtype
from codec_superb.base_codec.torchaudio_import import mend_torchaudio
from codec_superb.base_codec.weights import PARAMETERS, read_config

Tokens = NDArray[np.int32]
SECONDS_AT_ONCE = 60.0
"""Seconds of sound in one batch, over all its clips."""
UNUSED = re.compile(r"masked_spec_embed$")
"""Parameters that only training uses and that published checkpoints may lack."""
_NUMBER = re.compile(r"\d+")


class NeuralSettings(BaseModel):
    """The ``settings`` of the card of a codec of transformers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dtype: Dtype = "float32"
    compile: bool = False


class TransformersCodec(CheckpointCodec):
    """A token codec of transformers; its payloads are int32 ``(codebooks, frames)``."""

    model_class: ClassVar[str]
    """Name of the model's class in transformers."""
    model_type: ClassVar[str]
    """``model_type`` of its ``config.json``."""
    chunking: ClassVar[Chunking]
    mixable: ClassVar[int | None] = None
    """Frames from which on clips of different lengths share a batch; None for a model that is not causal."""
    compiled: ClassVar[tuple[str, ...]] = ("encoder", "decoder")
    """Parts of the model that ``torch.compile`` takes."""
    quantizing: ClassVar[str] = "encode"
    """Method of the model's quantizer that is given the latents."""
    input_dtype: ClassVar[Dtype | None] = None
    """Precision of the audio that :meth:`_to_tokens` gets; None: that of the model."""

    def __init__(self, card: Card, folder: Any) -> None:
        super().__init__(card, folder)
        self._settings = NeuralSettings.model_validate(card.settings)
        if card.codebooks is None or card.codebook_size is None or card.frame_rate is None:
            raise RefusedSetting(f"{card.name}: expected a card with codebooks, codebook_size and frame_rate")
        self._codebooks, self._codebook_size = card.codebooks, card.codebook_size
        self._frame_rate = float(card.frame_rate)
        self.hop = round(card.sampling_rate / card.frame_rate)
        # Frame length in samples at the encoder's input rate, which differs from the card's rate only for NeuCodec.
        self.hop_in = self.hop
        self.device = "cpu"
        self._model: Any = None

    def load(self, device: str = "cpu") -> Self:
        """Build the model from the checkpoint on ``device``.

        Raises RefusedSetting where the checkpoint is not the card's model, MissingWeights where it is incomplete.
        """
        kind = read_config(self.folder).get("model_type")
        if kind != self.model_type:
            raise RefusedSetting(
                f"{self.card.name}: expected the model type {self.model_type} in {self.folder}, got {kind}"
            )
        if device != "cpu" and not torch.cuda.is_available():
            raise RefusedSetting(f"{self.card.name}: torch finds no CUDA device; use --device auto or --device cpu")
        mend_torchaudio()
        model_class = getattr(transformers, self.model_class)
        # transformers draws a progress bar per loaded checkpoint; one for each worker would hide the run's own bar.
        transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            model, report = model_class.from_pretrained(
                self.folder, local_files_only=True, dtype=getattr(torch, self._settings.dtype),
                # safetensors only: a pickle runs code when it is loaded
                use_safetensors=True, output_loading_info=True, ignore_mismatched_sizes=True,
            )  # fmt: skip
        except ImportError:
            raise
        except Exception as error:  # safetensors.SafetensorError and the configuration's checks share no base class
            raise MissingWeights(
                f"{self.card.name}: {self.folder} cannot be loaded ({type(error).__name__}: {error}); is "
                "model.safetensors complete and no Git LFS pointer, and config.json that of this model?"
            ) from error
        # transformers leaves what a checkpoint lacks at random, with a warning
        self._refuse_incomplete(report, model)
        self._refuse_other_model(model)
        self._model = model.eval().to(device)
        self.device = device
        if self._settings.compile:
            for part in self.compiled:
                setattr(self._model, part, torch.compile(getattr(self._model, part), dynamic=True))
        return self

    def close(self) -> None:
        """Free the model, on a graphics card its memory too."""
        self._model = None
        if self.device != "cpu":
            torch.cuda.empty_cache()

    @property
    def model(self) -> Any:
        """The model. Raises RefusedSetting before :meth:`load` and after :meth:`close`."""
        if self._model is None:
            raise RefusedSetting(f"{self.card.name} is not loaded: call load() first")
        return self._model

    def _refuse_incomplete(self, report: Any, model: Any) -> None:
        """Raise MissingWeights where the checkpoint lacks parameters, has extra ones, or has other shapes."""
        missing = sorted(str(name) for name in report["missing_keys"] if not UNUSED.search(str(name)))
        wrong = sorted(str(entry[0]) for entry in report.get("mismatched_keys", ()))
        over = self._layers_left_over(set(model.state_dict()))
        if missing or wrong or over:
            listed = ", ".join([*missing, *wrong, *over][:5])
            raise MissingWeights(
                f"{self.card.name}: {self.folder}: {len(missing)} parameters are missing, {len(wrong)} have another "
                f"shape and {len(over)} are left over, such as {listed}; fetch config.json and model.safetensors again"
            )

    def _layers_left_over(self, known: set[str]) -> list[str]:
        """Name parameters of layers beyond those of the configuration, which transformers drops silently."""
        alike = {_NUMBER.sub("N", name) for name in known}
        with safetensors.safe_open(self.folder / PARAMETERS, "pt") as file:
            names = file.keys()  # safe_open has keys(), but is not iterable
        return sorted(name for name in names if name not in known and _NUMBER.sub("N", name) in alike)

    def _refuse_other_model(self, model: Any) -> None:
        """Raise RefusedSetting where the checkpoint's configuration is not what the card says."""
        said = {
            "sampling rate": self.card.sampling_rate, "channels": max(self.card.channels), "frame length": self.hop,
            "codebook size": self.card.codebook_size,
        }  # fmt: skip
        found = self._facts(model.config)
        wrong = [f"{name} {found[name]}, not {value}" for name, value in said.items() if found[name] != value]
        if found["codebooks"] < self._codebooks:
            wrong.append(f"{found['codebooks']} codebooks, not {self._codebooks} or more")
        if wrong:
            raise RefusedSetting(f"{self.card.name}: the checkpoint in {self.folder} has {'; '.join(wrong)}")

    def _facts(self, config: Any) -> dict[str, int]:
        """Read from a configuration what the card says too."""
        return {
            "sampling rate": config.sampling_rate, "channels": 1, "frame length": config.hop_length,
            "codebook size": config.codebook_size, "codebooks": config.num_quantizers,
        }  # fmt: skip

    @abstractmethod
    def _to_tokens(self, audio: torch.Tensor) -> torch.Tensor:
        """Encode ``(clips, channels, samples)``, whole frames, to ``(clips, codebooks, frames)``."""

    @abstractmethod
    def _to_audio(self, tokens: torch.Tensor) -> torch.Tensor:
        """Decode ``(clips, codebooks, frames)`` to ``(clips, channels, samples)``."""

    def _lost_samples(self) -> int:
        """Return by how many samples the decoder's output is shorter than its frames."""
        return 0

    def _encode(self, audio: Audio) -> Packets:
        return self._encode_batch([audio])[0]

    def _decode(self, packets: Packets, channels: int) -> Audio:
        return self._decode_batch([(packets, channels)])[0]

    def _encode_batch(self, audios: Sequence[Audio]) -> list[Packets]:
        frames = [ceil((audio.shape[1] + self._lost_samples()) / self.hop_in) for audio in audios]
        out: list[Packets | None] = [None] * len(audios)
        for group in groups(frames, self._budget, self.mixable):
            longest = max(frames[index] for index in group)
            tokens = self._encode_frames([audios[index] for index in group], longest)
            for row, index in enumerate(group):
                out[index] = self._packets(tokens[row, :, : frames[index]].copy())
        return [packets for packets in out if packets is not None]

    def _decode_batch(self, received: Sequence[tuple[Packets, int]]) -> list[Audio]:
        tokens = [self._checked(packets) for packets, _ in received]
        frames = [its.shape[1] for its in tokens]
        out: list[Audio | None] = [None] * len(tokens)
        for group in groups(frames, self._budget, self.mixable):
            longest = max(frames[index] for index in group)
            batch = np.zeros((len(group), self._codebooks, longest), dtype=np.int32)
            for row, index in enumerate(group):
                batch[row, :, : frames[index]] = tokens[index]
            audio = self._decode_frames(batch)
            for row, index in enumerate(group):
                out[index] = audio[row, :, : frames[index] * self.hop]
        return [audio for audio in out if audio is not None]

    @property
    def _budget(self) -> int:
        return round(SECONDS_AT_ONCE * self._frame_rate)

    def _encode_frames(self, clips: Sequence[Audio], frames: int) -> Tokens:
        """Encode clips to tokens ``(clips, codebooks, frames)``; each chunk is written to its place in the result.

        Collecting the chunks in a list would fragment the heap: small arrays that outlive large temporary ones.
        """
        tokens = np.zeros((len(clips), self._codebooks, frames), dtype=np.int32)
        end = 0
        for part in self._token_parts(clips, frames):
            begin, end = end, end + part.shape[2]
            tokens[:, :, begin:end] = part
        self._let_go(frames)
        return tokens[:, :, :end]

    def _token_parts(self, clips: Sequence[Audio], frames: int) -> Iterator[Tokens]:
        """Encode clips ``(channels, samples)`` to tokens ``(clips, codebooks, frames)``, long ones in chunks."""
        for span in spans(frames, self._frame_rate, self.chunking):
            piece = self._tensor(cut(clips, span.start * self.hop_in, span.end * self.hop_in))
            with self._inference():
                tokens = self._to_tokens(piece.to(getattr(torch, self.input_dtype or self._settings.dtype)))
            yield tokens[:, :, span.keep_from - span.start : span.keep_to - span.start].int().cpu().numpy()

    def _latents(self, audio: Audio) -> Latents:
        frames = ceil((audio.shape[1] + self._lost_samples()) / self.hop_in)
        parts = zip(spans(frames, self._frame_rate, self.chunking), self._token_parts([audio], frames), strict=True)
        continuous, quantised = [], []
        with recorded(self.model.quantizer, self.quantizing) as given:
            for span, tokens in parts:
                kept = slice(span.keep_from - span.start, span.keep_to - span.start)
                continuous.append(self._rows(given.pop()[0])[kept])
                with self._inference():
                    quantised.append(self._rows(self._dequantised(self._tensor(tokens).long())[0]))
        return Latents(np.concatenate(continuous), np.concatenate(quantised))

    def _dequantised(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return what the decoder is given for ``(clips, codebooks, frames)``."""
        latents: torch.Tensor = self.model.quantizer.decode(tokens.transpose(0, 1))
        return latents

    def _rows(self, latents: torch.Tensor) -> NDArray[np.float32]:
        """Return one clip's latents, ``(dimensions, frames)`` at the quantizer, as a row a frame."""
        rows: NDArray[np.float32] = latents.T.float().cpu().numpy()
        return rows

    def _decode_frames(self, batch: Tokens) -> Audio:
        """Decode ``(clips, codebooks, frames)``; each chunk is written to its place in the result."""
        audio = np.zeros((batch.shape[0], max(self.card.channels), batch.shape[2] * self.hop), dtype=np.float32)
        end = 0
        for part in self._audio_parts(batch):
            begin, end = end, end + part.shape[2]
            audio[:, :, begin:end] = part
        self._let_go(batch.shape[2])
        return audio[:, :, :end]

    def _let_go(self, frames: int) -> None:
        """After a long clip, release the pages of the checkpoint: the next stage needs the memory for audio."""
        if frames > self.chunking.limit * self._frame_rate:
            page_out(self.folder)

    def _audio_parts(self, batch: Tokens) -> Iterator[Audio]:
        """Decode ``(clips, codebooks, frames)`` to consecutive parts."""
        for span in spans(batch.shape[2], self._frame_rate, self.chunking):
            with self._inference():
                decoded = self._to_audio(self._tensor(batch[:, :, span.start : span.end]).long())
            kept = slice((span.keep_from - span.start) * self.hop, (span.keep_to - span.start) * self.hop)
            yield decoded[:, :, kept].float().cpu().numpy()

    def _tensor(self, array: NDArray[Any]) -> torch.Tensor:
        # from_numpy takes no negative strides
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    @contextmanager
    def _inference(self) -> Iterator[None]:
        """Compute without gradients, in true float32 (no TF32) and with deterministic algorithms."""
        with (
            torch.inference_mode(),
            # benchmark picks algorithms by time, which differ in rounding from run to run; TF32 has 10 bits of mantissa
            torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False),
        ):
            yield

    def _packets(self, tokens: Tokens, side: bytes = b"") -> Packets:
        """Return tokens with their size: log2(codebook size) bits each, plus the bits of the side information."""
        return Packets(tokens, self.card.bits_of(tokens.shape[1]) + 8 * len(side), side=side)

    def _checked(self, packets: Packets) -> Tokens:
        """Return the tokens. Raises CodingFailed where shape or range are not those of this codec."""
        tokens = packets.payload
        expected = f"{self.card.name}: expected integer tokens ({self._codebooks}, frames) below {self._codebook_size}"
        if isinstance(tokens, bytes) or tokens.ndim != 2 or tokens.shape[0] != self._codebooks or not tokens.size:  # noqa: PLR2004 - two axes
            raise CodingFailed(f"{expected}, got {'bytes' if isinstance(tokens, bytes) else tokens.shape}")
        if tokens.min() < 0 or tokens.max() >= self._codebook_size:
            raise CodingFailed(f"{expected}, got {tokens.min()} to {tokens.max()}")
        return tokens.astype(np.int32)
