"""Lyra V2, Google's speech codec for calls: its published encoder, quantizer and decoder, run by LiteRT.

A frame of 320 samples becomes 64 features, these become up to 46 tokens of 4 bits, and back; a bitrate sends the first
16, 30 or 46 of them. Encoder and decoder keep state from frame to frame inside their interpreter, and neither
``reset_all_variables`` nor ``allocate_tensors`` of ai-edge-litert 2.3.0 resets it: the features of a second clip then
differ from those of a new interpreter. So each clip gets new ones. The quantizer has no state: one serves all clips.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from numpy.typing import NDArray

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.counting import Counted
from codec_superb.base_codec.errors import CodingFailed, MissingWeights, RefusedSetting
from codec_superb.base_codec.families.litert_graph import operations_of
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.interface import CheckpointCodec, Encoded, Latents, Packets

ENCODER, QUANTIZER, DECODER = "soundstream_encoder.tflite", "quantizer.tflite", "lyragan.tflite"
FRAME, FEATURES, STAGES, ENTRIES = 320, 64, 46, 16
NOT_SENT = -1
"""What the quantizer takes in place of the token of a stage that was not sent."""
CONCEALED, FADE = 4, 640
"""Missing frames that are decoded from zeros at full level, 80 ms; samples of a fade, 40 ms (lyra_decoder.cc)."""
_SHAPES = {ENCODER: ((1, FRAME), (1, 1, FEATURES)), DECODER: ((1, 1, FEATURES), (1, FRAME))}
Frames = NDArray[np.float32]


class LyraCodec(CheckpointCodec):
    """Lyra V2 at one of its bitrates; its payloads are int32 ``(codebooks, frames)``."""

    def __init__(self, card: Card, folder: Any) -> None:
        super().__init__(card, folder)
        self._stages = card.codebooks or 0
        if not 1 <= self._stages <= STAGES or card.codebook_size != ENTRIES:
            raise RefusedSetting(
                f"{card.name}: Lyra V2 has 1 to {STAGES} codebooks of {ENTRIES} entries, got {card.codebooks} of "
                f"{card.codebook_size}"
            )
        self._models: dict[str, bytes] = {}
        self._quantizer: Interpreter | None = None

    def load(self, device: str = "cpu") -> Self:  # noqa: ARG002 - LiteRT runs it on the CPU
        """Read the three models and check that they are those of Lyra V2. Raises MissingWeights."""
        self._models = {name: (self.folder / name).read_bytes() for name in (ENCODER, QUANTIZER, DECODER)}
        try:
            found = {name: _shapes(self._interpreter(name)) for name in _SHAPES}
            signatures = set(self._interpreter(QUANTIZER).get_signature_list())
        except (ValueError, RuntimeError) as error:
            raise MissingWeights(f"{self.card.name}: a model in {self.folder} cannot be loaded ({error})") from error
        if found != _SHAPES or not signatures >= {"encode", "decode"}:
            raise MissingWeights(
                f"{self.card.name}: expected models of frames of {FRAME} samples and {FEATURES} features, and a "
                f"quantizer that encodes and decodes, in {self.folder}; got {found}, {sorted(signatures)}"
            )
        return self

    def close(self) -> None:
        """Free the models."""
        self._models, self._quantizer = {}, None

    def _encode(self, audio: Audio) -> Packets:
        tokens = self._tokens(self._features(audio))
        return Packets(tokens, self.card.bits_of(tokens.shape[1]))

    def _latents(self, audio: Audio) -> Latents:
        features = self._features(audio)
        return Latents(features[:, 0, 0], self._dequantised(self._tokens(features))[:, 0, 0])

    def _features(self, audio: Audio) -> Frames:
        """Return the encoder's features of each frame, ``(frames, 1, 1, 64)``."""
        frames = np.pad(audio[0], (0, -audio.shape[1] % FRAME)).reshape(-1, 1, FRAME)
        return _run(self._interpreter(ENCODER), frames)

    def _tokens(self, features: Frames) -> NDArray[np.int32]:
        """Return the tokens of the stages that are sent, ``(codebooks, frames)``."""
        quantize = self._quantizing().get_signature_runner("encode")
        tokens = np.empty((self._stages, len(features)), dtype=np.int32)
        for index, frame in enumerate(features):
            found = quantize(input_frames=frame, num_quantizers=np.int32(self._stages))["output_0"]
            tokens[:, index] = found[: self._stages, 0, 0]
        return tokens

    def _dequantised(self, tokens: NDArray[np.integer[Any]]) -> Frames:
        """Return the features that tokens stand for, ``(frames, 1, 1, 64)``."""
        sent = np.full((STAGES, tokens.shape[1]), NOT_SENT, dtype=np.int32)
        sent[: self._stages] = tokens
        features = self._quantizing().get_signature_runner("decode")
        # all frames in one call: the sums are the same, in a fifteenth of the time; encoding takes one frame a call
        found: Frames = features(encoding_indices=sent[:, None])["output_0"].reshape(-1, 1, 1, FEATURES)
        return found

    def _decode(self, packets: Packets, channels: int) -> Audio:
        frames = np.shape(packets.payload)[-1:]
        return self._decode_lossy(packets, np.zeros(frames, dtype=np.bool_), channels)

    def _decode_lossy(self, packets: Packets, lost: NDArray[np.bool_], channels: int) -> Audio:  # noqa: ARG002 - mono only
        """Decode as Lyra's own decoder does where packets are missing, with silence in place of its comfort noise.

        Missing features are zeros; from the fifth missing frame on (after 80 ms) the sound fades out in 40 ms, and
        fades in in 40 ms when frames arrive again (lyra_decoder.cc, zero_feature_estimator.h). While nothing is heard
        the decoder does not run.
        """
        frames = self._dequantised(self._checked(packets.payload))
        if not lost.any():  # every gain is 1
            return _run(self._interpreter(DECODER), frames).reshape(1, -1)
        frames[lost] = 0
        weights = _weights(lost)
        heard = weights.any(axis=1)
        sound = np.zeros((lost.size, FRAME), dtype=np.float32)
        sound[heard] = _run(self._interpreter(DECODER), frames[heard]).reshape(-1, FRAME) * weights[heard]
        return sound.reshape(1, -1)

    def encode_counted(self, audio: Audio, rate: int) -> tuple[Encoded, Counted]:
        """Encode, and count the encoder's operations from its graph; the quantizer only looks up and adds."""
        encoded = self.encode(audio, rate)
        return encoded, self._frames_of(ENCODER, encoded)

    def decode_counted(self, encoded: Encoded) -> tuple[Audio, Counted]:
        """Decode, and count the decoder's operations from its graph."""
        return self.decode(encoded), self._frames_of(DECODER, encoded)

    def _frames_of(self, name: str, encoded: Encoded) -> Counted:
        """Count what a model computes for the frames of a payload."""
        counted = operations_of(self._interpreter(name))
        per_frame = counted.operations
        return counted._replace(operations=per_frame and per_frame * np.shape(encoded.payload)[1])

    def _quantizing(self) -> Interpreter:
        """Return the interpreter of the quantizer."""
        if self._quantizer is None:
            self._quantizer = self._interpreter(QUANTIZER)
        return self._quantizer

    def _interpreter(self, name: str) -> Interpreter:
        """Return a new interpreter of a model, without state of an earlier clip."""
        if not self._models:
            raise RefusedSetting(f"{self.card.name} is not loaded: call load() first")
        # one thread: clips run side by side in processes, and frames are too small to be shared out
        interpreter = Interpreter(model_content=self._models[name], num_threads=1)
        interpreter.allocate_tensors()
        return interpreter

    def _checked(self, tokens: bytes | NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
        """Return the tokens. Raises CodingFailed where shape or range are not those of this codec."""
        expected = f"{self.card.name}: expected integer tokens ({self._stages}, frames) below {ENTRIES}"
        if isinstance(tokens, bytes) or tokens.ndim != 2 or len(tokens) != self._stages or not tokens.size:  # noqa: PLR2004 - two axes
            raise CodingFailed(f"{expected}, got {'bytes' if isinstance(tokens, bytes) else tokens.shape}")
        if tokens.dtype.kind not in "iu" or tokens.min() < 0 or tokens.max() >= ENTRIES:
            raise CodingFailed(f"{expected}, got {tokens.dtype} from {tokens.min()} to {tokens.max()}")
        return tokens


def _run(interpreter: Interpreter, frames: Frames) -> Frames:
    """Run a model on frames, one after the other; its state goes from each to the next."""
    source, target = interpreter.get_input_details()[0]["index"], interpreter.get_output_details()[0]["index"]
    out = []
    for frame in frames:
        interpreter.set_tensor(source, frame)
        interpreter.invoke()
        out.append(interpreter.get_tensor(target))
    return np.stack(out)


def _weights(lost: NDArray[np.bool_]) -> Frames:
    """Return the gain of each sample, ``(frames, samples)``: a raised cosine from full to silent and back."""
    progress, missing = 0, 0  # samples towards silence; frames missing in a row
    weights = np.ones((lost.size, FRAME), dtype=np.float32)
    for frame, gone in enumerate(lost):
        step = 1 if gone and missing >= CONCEALED else -1
        steps = np.clip(progress + step * np.arange(FRAME), 0, FADE)
        weights[frame] = (1 + np.cos(np.pi * steps / FADE)) / 2
        progress = min(max(progress + step * FRAME, 0), FADE)
        missing = missing + 1 if gone else 0
    return weights


def _shapes(interpreter: Interpreter) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shapes of a model's one input and one output."""
    (source,), (target,) = interpreter.get_input_details(), interpreter.get_output_details()
    return tuple(source["shape"].tolist()), tuple(target["shape"].tolist())
