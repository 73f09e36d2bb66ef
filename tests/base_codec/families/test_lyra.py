"""Lyra V2 with its published weights: tokens, bits, state, rates, place in time, and the figures that others found."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import soundfile
from numpy.typing import NDArray
from support.codecs.every_codec import level_differences, waveform_lag
from support.codecs.published import needs_published, published_weights
from support.speech import real_speech

from codec_superb.base_codec import registry
from codec_superb.base_codec.card import WeightsFile
from codec_superb.base_codec.errors import CodingFailed, MissingWeights, RefusedSetting
from codec_superb.base_codec.interface import Codec, Encoded
from codec_superb.base_codec.options import CodecOptions
from codec_superb.cli.main import call
from codec_superb.data_manifests.files import listing_sha256
from codec_superb.pipeline.runs.folder import RunFolder

NAMES = ("lyra_3.2k", "lyra_6k", "lyra_9.2k")
SMALLEST = NAMES[0]
RATE, FRAME = 16000, 320

pytestmark = [needs_published(SMALLEST), pytest.mark.network]


def options() -> CodecOptions:
    """Return the options that name the published weights of this machine."""
    return CodecOptions(weights=str(published_weights(SMALLEST)))


@functools.cache
def opened(name: str) -> Codec:
    """Open a codec once in a test process: what it keeps between clips would show."""
    return registry.open_codec(name, options=options())


def tokens_of(encoded: Encoded) -> NDArray[np.integer[Any]]:
    """Return the payload, which is an array of tokens."""
    assert not isinstance(encoded.payload, bytes)
    return encoded.payload


@pytest.mark.parametrize("name", NAMES)
def test_tokens_have_the_shape_and_the_bits_of_the_card(name: str) -> None:
    """A frame of 20 ms is 4 bits a codebook: 64, 120 and 184; all sixteen entries occur."""
    card = registry.card(name)
    encoded = opened(name).encode(real_speech(RATE, 4.01), RATE)
    tokens = tokens_of(encoded)
    assert tokens.shape == (card.codebooks, 201)
    assert encoded.bits == {"lyra_3.2k": 64, "lyra_6k": 120, "lyra_9.2k": 184}[name] * 201
    assert set(np.unique(tokens)) == set(range(16))


def test_a_lower_bitrate_sends_the_first_codebooks_of_a_higher() -> None:
    """Each codebook codes what those before it left: fewer of them are the same ones."""
    tokens = [tokens_of(opened(name).encode(real_speech(RATE, 1), RATE)) for name in NAMES]
    for fewer, more in ((0, 1), (1, 2)):
        assert np.array_equal(tokens[fewer], tokens[more][: len(tokens[fewer])])


@pytest.mark.parametrize("name", NAMES)
def test_a_clip_is_the_same_first_second_and_elsewhere(name: str) -> None:
    """State begins anew with each clip: the same tokens and sound after itself, another clip, another open."""
    codec, clip, other = opened(name), real_speech(RATE, 1), real_speech(RATE, 3)[:, 2 * RATE :]
    first = codec.encode(clip, RATE)
    sound = codec.decode(first)
    for between in (clip, other):
        codec.decode(codec.encode(between, RATE))
        again = codec.encode(clip, RATE)
        assert np.array_equal(tokens_of(again), tokens_of(first))
        assert np.array_equal(codec.decode(again), sound)
    fresh = registry.open_codec(name, options=options())
    assert np.array_equal(fresh.decode(first), sound)
    assert np.array_equal(tokens_of(fresh.encode(clip, RATE)), tokens_of(first))


def test_an_interpreter_that_is_kept_would_carry_state_on() -> None:
    """Why each clip gets new ones: no call of the library brings the first features of a clip back."""
    from ai_edge_litert.interpreter import Interpreter

    def features() -> NDArray[np.float32]:
        interpreter.set_tensor(source, real_speech(RATE, 1)[:, :FRAME])
        interpreter.invoke()
        found: NDArray[np.float32] = interpreter.get_tensor(target)
        return found

    folder = published_weights(SMALLEST)
    assert folder is not None
    interpreter = Interpreter(model_content=(folder / "soundstream_encoder.tflite").read_bytes(), num_threads=1)
    interpreter.allocate_tensors()
    source, target = interpreter.get_input_details()[0]["index"], interpreter.get_output_details()[0]["index"]
    first = features()
    interpreter.reset_all_variables()
    assert not np.array_equal(features(), first)
    interpreter.allocate_tensors()
    assert not np.array_equal(features(), first)


@pytest.mark.sample(2)
@pytest.mark.parametrize("rate", [8000, 16000, 32000, 44100, 48000])
def test_every_rate_keeps_length_place_and_level(rate: int) -> None:
    """Mono and stereo of each rate come back as mono, as long, within a sample of their place, and as loud."""
    codec = opened("lyra_9.2k")
    for channels in (1, 2):
        speech = real_speech(rate, 3, channels)
        resynthesis = codec.decode(codec.encode(speech, rate))
        expected = speech.mean(axis=0, keepdims=True)
        assert resynthesis.shape == expected.shape
        lag, correlation = waveform_lag(expected, resynthesis, rate)
        assert abs(lag) <= max(1, rate // RATE)
        assert correlation > 0.7
        assert np.abs(level_differences(expected, resynthesis, rate)).max() < 6


@pytest.mark.parametrize("samples", [1, 319, 320, 321])
def test_short_clips_keep_their_length(samples: int) -> None:
    """A clip below a frame is one frame; what fills the last frame does not come back."""
    encoded = opened(SMALLEST).encode(real_speech(RATE, 1)[:, -samples:], RATE)
    assert tokens_of(encoded).shape == (16, 1 + (samples > FRAME))
    assert opened(SMALLEST).decode(encoded).shape == (1, samples)


def test_no_sample_waits_for_more_than_its_frame() -> None:
    """Sound that changes in a frame changes nothing before that frame: the latency of the card."""
    codec, before = opened("lyra_9.2k"), real_speech(RATE, 1)
    for place in (5 * FRAME, 20 * FRAME + 7):
        after = before.copy()
        after[:, place:] = 0.1 * np.random.default_rng(0).standard_normal(after[:, place:].shape)
        changed = codec.decode(codec.encode(before, RATE)) != codec.decode(codec.encode(after, RATE))
        assert int(np.argmax(changed[0])) >= place // FRAME * FRAME
    assert codec.card.latency_ms == 20


def test_batches_are_the_clips_one_by_one() -> None:
    """Clips of other lengths beside it change neither tokens nor sound of a clip."""
    codec = opened("lyra_6k")
    clips = [real_speech(RATE, seconds) for seconds in (0.5, 0.3, 0.01)]
    batch = codec.encode_batch(clips, RATE)
    for clip, encoded, sound in zip(clips, batch, codec.decode_batch(batch), strict=True):
        alone = codec.encode(clip, RATE)
        assert np.array_equal(tokens_of(encoded), tokens_of(alone))
        assert np.array_equal(sound, codec.decode(alone))


@pytest.mark.parametrize(
    "payload",
    [
        b"\x00", np.zeros((16, 0), int), np.zeros((30, 2), int), np.full((16, 2), 16), np.full((16, 2), -1),
        np.zeros((16, 2)),
    ],
    ids=["bytes", "empty", "other codebooks", "too large", "not sent", "no integers"],
)  # fmt: skip
def test_tokens_of_another_codec_are_refused(payload: Any) -> None:
    """Tokens from a file may be anything; the quantizer would look them up beyond its tables."""
    with pytest.raises(CodingFailed, match=r"expected integer tokens \(16, frames\) below 16, got"):
        opened(SMALLEST).decode(Encoded(payload, 64, FRAME, RATE, 1))


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_samples_that_are_no_numbers_are_refused(wrong: float) -> None:
    """They would stay in the encoder's state and spoil all frames that follow."""
    clip = real_speech(RATE, 0.1)
    clip[0, 7] = wrong
    with pytest.raises(CodingFailed, match="NaN or Inf"):
        opened(SMALLEST).encode(clip, RATE)


def test_weights_of_another_model_are_told(tmp_path: Path) -> None:
    """A file cut short and models in each other's place are named, and a closed codec says that it is closed."""
    folder = published_weights(SMALLEST)
    assert folder is not None
    names = [file.name for file in files_of()]
    content = {name: (folder / name).read_bytes() for name in names}
    for name, data in content.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "quantizer.tflite").write_bytes(b"half a download")
    with pytest.raises(MissingWeights, match=r"a model in .* cannot be loaded"):
        registry.open_codec(SMALLEST, options=CodecOptions(weights=str(tmp_path)))
    (tmp_path / "quantizer.tflite").write_bytes(content["quantizer.tflite"])
    (tmp_path / "lyragan.tflite").write_bytes(content["soundstream_encoder.tflite"])
    with pytest.raises(MissingWeights, match="expected models of frames of 320 samples and 64 features"):
        registry.open_codec(SMALLEST, options=CodecOptions(weights=str(tmp_path)))
    codec = registry.open_codec(SMALLEST, options=options())
    codec.close()
    with pytest.raises(RefusedSetting, match="is not loaded"):
        codec.encode(real_speech(RATE, 0.1), RATE)


def files_of() -> tuple[WeightsFile, ...]:
    """Return the files on the card."""
    weights = registry.card(SMALLEST).weights
    assert weights is not None
    return weights.files


def test_the_card_has_the_hash_of_its_files() -> None:
    """The published files are known by their hashes wherever they lie: the card of a run has address and commit."""
    card, _ = registry.configure(SMALLEST, options())
    assert card == registry.card(SMALLEST)
    assert card.weights is not None
    assert card.weights.sha256 == listing_sha256({file.name: file.sha256 for file in files_of()})
    assert card.weights.revision in card.weights.source


def test_parameters_are_the_constants_that_layers_read() -> None:
    """Weights and biases of convolutions, and codebooks: not initial states, shapes, or biases of zeros."""
    from ai_edge_litert import schema_py_generated as schema

    read = {
        schema.BuiltinOperator.CONV_2D: (1, 2), schema.BuiltinOperator.DEPTHWISE_CONV_2D: (1, 2),
        schema.BuiltinOperator.TRANSPOSE_CONV: (1, 3), schema.BuiltinOperator.GATHER: (0,),
    }  # fmt: skip
    folder, count = published_weights(SMALLEST), 0
    assert folder is not None
    for file in files_of():
        model = schema.Model.GetRootAs((folder / file.name).read_bytes(), 0)
        found: dict[int, int] = {}
        for graph in map(model.Subgraphs, range(model.SubgraphsLength())):
            for operator in map(graph.Operators, range(graph.OperatorsLength())):
                code = model.OperatorCodes(operator.OpcodeIndex())
                # old converters write the code into a byte that has run out since
                for place in read.get(max(code.BuiltinCode(), code.DeprecatedBuiltinCode()), ()):
                    if place < operator.InputsLength() and operator.Inputs(place) >= 0:
                        tensor = graph.Tensors(operator.Inputs(place))
                        if np.any(model.Buffers(tensor.Buffer()).DataAsNumpy()):
                            found[tensor.Buffer()] = int(np.prod(tensor.ShapeAsNumpy()))
        count += sum(found.values())
    assert count == registry.card(SMALLEST).parameters


def test_tokens_go_out_and_come_back_as_resynth_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`tokens export` and `decode` give the samples of `resynth`, and the use and entropy of each codebook."""
    folder = published_weights(SMALLEST)
    assert folder is not None
    clips, file, out, runs = (tmp_path / name for name in ("clips", "tokens.parquet", "sound", "runs"))
    clips.mkdir()
    for index in range(2):
        soundfile.write(clips / f"{index}.wav", real_speech(8000, 1 + index)[0], 8000)
    monkeypatch.setenv("CODEC_SUPERB_WEIGHTS", str(folder.parent))
    data = ["--codec", SMALLEST, "--dataset", str(clips)]
    assert call(["tokens", "export", *data, "-o", str(file), "--json"]) == 0
    statistics = json.loads(capsys.readouterr().out)["statistics"]
    assert 0 < statistics["entropy_kbps"] < statistics["kbps"] == pytest.approx(3.2)
    rows = pq.read_table(file).to_pylist()
    tokens = np.concatenate([np.reshape(row["tokens"], (16, row["frames"])) for row in rows], axis=1)
    assert tokens.shape == (16, 150)
    assert [codebook["used"] for codebook in statistics["codebooks"]] == [len(set(own)) for own in tokens.tolist()]
    assert call(["tokens", "decode", str(file), "--out", str(out)]) == 0
    assert call(["resynth", *data, "--category", "speech", "--out", str(runs), "--workers", "1"]) == 0
    run = RunFolder(runs / SMALLEST / "clips")
    assert run.info().card.weights == registry.card(SMALLEST).weights
    for row in run.rows():
        expected, _ = soundfile.read(run.audio_path(row.clip), dtype="int32")
        found, rate = soundfile.read(out / f"{row.clip}.flac", dtype="int32")
        assert rate == 8000
        assert np.array_equal(found, expected)


def test_lost_frames_fade_out_as_in_its_own_decoder() -> None:
    """Full level for 80 ms, a raised cosine of 40 ms to silence, and one of 40 ms back when frames arrive again."""
    from codec_superb.base_codec.families import lyra  # its package is an extra

    codec = opened(SMALLEST)
    encoded = codec.encode(real_speech(RATE, 2.0), RATE)
    lost = np.zeros(tokens_of(encoded).shape[1], dtype=np.bool_)
    clean = codec.decode(encoded)[0]
    assert np.array_equal(codec.decode_lossy(encoded, lost)[0], clean)
    lost[30:42] = True
    concealed = codec.decode_lossy(encoded, lost)[0].reshape(-1, FRAME)
    assert np.array_equal(concealed[:30].ravel(), clean[: 30 * FRAME])
    assert not concealed[36:42].any()
    assert concealed[30:36].any(axis=1).all()
    weights = lyra._weights(lost)
    assert np.array_equal(weights[:34], np.ones((34, FRAME)))
    assert weights[34:36].ravel() == pytest.approx((1 + np.cos(np.pi * np.arange(640) / 640)) / 2, abs=1e-6)
    assert weights[42:44].ravel() == pytest.approx((1 - np.cos(np.pi * np.arange(640) / 640)) / 2, abs=1e-6)
    assert np.array_equal(weights[44:], np.ones_like(weights[44:]))
