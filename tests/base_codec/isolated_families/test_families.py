"""Codecs in private environments, really built: the packages' own models with random weights, through the worker."""

from __future__ import annotations

import ast
import json
import math
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.codecs.families import SCRIPT, make_model, random_codec
from support.codecs.token_figures import check_disturbed, check_learnt

from codec_superb.base_codec import registry
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodecUnusable
from codec_superb.base_codec.isolation.codec import IsolatedCodec
from codec_superb.base_codec.isolation.cuda import cards_here
from codec_superb.base_codec.isolation.environment import find_environment, remove
from codec_superb.base_codec.isolation.host import GUESTS, guest_file
from codec_superb.base_codec.isolation.lock import Lock, open_lock
from codec_superb.base_codec.options import CodecOptions

pytestmark = pytest.mark.isolated
BATCHED = {
    "bigcodec",
    "dac",
    "encodec",
    "nanocodec",
    "nanocodec_21fps",
    "snac",
    "speechtokenizer",
    "vocos",
    "wavtokenizer",
}
"""Families whose guests take several clips at once."""


def fact(family: str, name: str, default: Any = None) -> Any:
    """Read a constant of a family's file, which only a private interpreter can import; without default it must be."""
    tree = ast.parse((SCRIPT.with_name("families") / f"{family}.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name:
            return ast.literal_eval(node.value)
    if default is not None:
        return default
    raise AssertionError(f"families/{family}.py: expected a constant {name}")


def lock_of(name: str) -> Lock:
    """Return the lock of an isolated codec."""
    isolation = registry.card(name).isolation
    assert isolation is not None
    return open_lock(isolation.lock)


def families() -> Iterator[Any]:
    """Name every family; one whose package is in no registry is marked, since its code must be fetched by git."""
    for path in sorted(SCRIPT.with_name("families").glob("*.py")):
        if path.stem != "drawing":
            fetched = lock_of(fact(path.stem, "CODEC")).repositories
            yield pytest.param(path.stem, marks=[pytest.mark.repositories] if fetched else [])


class Made(NamedTuple):
    """A family with a checkpoint of random weights."""

    family: str
    python: Path
    folder: Path
    card: Card
    codec: IsolatedCodec

    def another(self, folder: Path, **changes: Any) -> IsolatedCodec:
        """Return its codec again, not loaded, with the model of ``folder`` and the family's settings."""
        return random_codec(self.card.name, folder, settings=self.card.settings, **changes)


@pytest.fixture(scope="module", params=families())
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """Build the environment, make the checkpoint in it, and open the codec with it."""
    family = request.param
    name, folder = fact(family, "CODEC"), tmp_path_factory.mktemp(family)
    lock = lock_of(name)
    python = make_model(family, lock.name, folder)
    settings = registry.card(name).settings | fact(family, "SETTINGS", default={})
    codec = random_codec(name, folder, settings=settings).load()
    yield Made(family, python, folder, codec.card, codec)
    codec.close()
    remove(find_environment(lock))  # twenty of them take 20 GB where their files cannot be shared with uv's cache


def noise(made: Made, seconds: float, channels: int = 1) -> Any:
    """Return noise at the codec's own rate."""
    samples = round(seconds * made.card.sampling_rate)
    return (0.1 * np.random.default_rng(0).standard_normal((channels, samples))).astype(np.float32)


@pytest.mark.parametrize("seconds", [0.01, 0.5, 3.21])
def test_tokens_bits_and_length_are_those_of_the_card(made: Made, seconds: float) -> None:
    """Tokens are ``(codebooks, frames)`` for the whole clip, bits are counted from them, lengths are kept."""
    clip, card = noise(made, seconds), made.card
    encoded = made.codec.encode(clip, card.sampling_rate)
    assert isinstance(encoded.payload, np.ndarray)
    assert card.frame_rate is not None
    assert card.codebook_entries is not None
    frames, block = encoded.payload.shape[1], card.block_frames
    assert encoded.payload.shape[0] == card.codebooks
    blocks = seconds * card.frame_rate / block
    assert math.ceil(blocks - 1e-6) <= frames / block <= math.ceil(blocks) + (block == 1)
    assert encoded.bits == math.ceil(frames * sum(map(math.log2, card.codebook_entries)) - 1e-9) + 8 * len(encoded.side)
    assert made.codec.decode(encoded).shape == clip.shape


def test_the_worker_gives_what_the_package_gives_by_itself(made: Made, tmp_path: Path) -> None:
    """Tokens and sound are those of the package called directly in its environment."""
    clip = noise(made, 1.7)
    np.save(tmp_path / "clip.npy", clip)
    files = [str(tmp_path / "clip.npy"), str(tmp_path / "out.npz")]
    subprocess.run([made.python, "-I", SCRIPT, "tokens", made.family, made.folder, *files], check=True)
    direct = np.load(files[1])
    encoded = made.codec.encode(clip, made.card.sampling_rate)
    assert isinstance(encoded.payload, np.ndarray)
    assert len(np.unique(encoded.payload)) > 5  # the model listens; that of SNAC uses few entries
    assert np.array_equal(encoded.payload, direct["tokens"])
    assert np.abs(made.codec.decode(encoded) - direct["sound"][:, : clip.shape[1]]).max() < 1e-6


def test_clips_together_give_what_each_gives(made: Made) -> None:
    """Two clips of one length and one of another: the tokens are those of each alone, the sound within 1e-4."""
    rate = made.card.sampling_rate
    clips = [noise(made, 0.7), -noise(made, 0.7)[:, ::-1].copy(), noise(made, 1.1)]
    together = made.codec.encode_batch(clips, rate)
    sounds = made.codec.decode_batch(together)
    assert made.codec.gains_from_batches == (made.family in BATCHED)
    for clip, its, sound in zip(clips, together, sounds, strict=True):
        alone = made.codec.encode(clip, rate)
        assert (its.bits, its.side) == (alone.bits, alone.side)
        # A product of matrices adds up in another order for more rows. In random codebooks the two nearest entries of
        # one frame in fifty are so near (EnCodec's small model: 9.7227e-5 and 9.7181e-5) that rounding decides.
        assert np.mean(its.payload == alone.payload) >= 0.95
        assert np.abs(sound - made.codec.decode(its)).max() < 1e-4


def test_a_guest_computes_on_the_device_that_it_is_given(made: Made, tmp_path: Path) -> None:
    """On a stand-in for a graphics card, which refuses what CUDA refuses, tokens and sound are those of the CPU."""
    isolation, worker = made.card.isolation, made.codec.worker
    assert isolation is not None
    made.codec.wake()
    assert worker is not None
    description = made.card.model_dump(mode="json")
    description["settings"] = {**description["settings"], "weights": str(made.folder)}
    (tmp_path / "card.json").write_text(json.dumps(description))
    clip = noise(made, 1.3)
    ((tokens, side),) = worker.encode([clip])
    (sound,) = worker.decode([(tokens, side)], 1)
    np.savez(tmp_path / "given.npz", audio=clip, tokens=tokens, side=np.frombuffer(side, np.uint8))
    files = [tmp_path / name for name in ("card.json", "given.npz", "out.npz")]
    command = [made.python, "-I", SCRIPT.with_name("on_stand_in.py"), GUESTS.parent, guest_file(isolation), *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = np.load(files[-1])
    assert np.mean(found["tokens"] == tokens) >= 0.95  # an LSTM adds up in another order there
    # The random model of Qwen3-TTS clips at full scale; float32 and float64 differ by 1.1e-3 in some of its samples.
    difference = np.abs(found["sound"] - sound)
    assert difference.max() < 2e-3
    assert np.sqrt(np.mean(difference**2)) < 1e-4


@pytest.mark.skipif(cards_here() is None, reason="this machine has no graphics card")
def test_a_graphics_card_gives_the_tokens_of_the_cpu(made: Made) -> None:
    """In the environment for CUDA nearly all tokens are equal, and the sound of the same tokens is within 1e-3."""
    rate, clip = made.card.sampling_rate, noise(made, 1.3)
    codec = random_codec(made.card.name, made.folder).load("cuda")
    expected, found = made.codec.encode(clip, rate), codec.encode(clip, rate)
    sound, reference = codec.decode(expected), made.codec.decode(expected)
    codec.close()
    remove(find_environment(open_lock(lock_of(made.card.name).name, "cuda")))
    assert np.mean(expected.payload == found.payload) > 0.9
    assert np.abs(sound - reference).max() < 1e-3 * np.abs(reference).max()


def test_other_processes_and_other_clips_before_change_nothing(made: Made) -> None:
    """A second worker gives the same tokens and the same samples, and so does the first after another clip."""
    rate, clip = made.card.sampling_rate, noise(made, 1.0)
    first = made.codec.encode(clip, rate)
    sound = made.codec.decode(first)
    made.codec.decode(made.codec.encode(noise(made, 0.3)[:, ::-1].copy(), rate))
    fresh = made.another(made.folder).load()
    for codec in (made.codec, fresh):
        again = codec.encode(clip, rate)
        assert np.array_equal(first.payload, again.payload)
        assert np.array_equal(sound, codec.decode(again))
    fresh.close()


def test_a_folder_given_by_its_user_gives_the_same(made: Made) -> None:
    """What ``--weights DIR`` opens gives the same tokens, and its card says that nobody trained these weights."""
    codec = registry.open_codec(made.card.name, options=CodecOptions(weights=str(made.folder)))
    assert codec.card.weights is not None
    assert codec.card.weights.source == "random"
    assert codec.card.settings == registry.card(made.card.name).settings
    clip = noise(made, 1.0)
    payloads = [its.encode(clip, made.card.sampling_rate).payload for its in (made.codec, codec)]
    codec.close()
    assert np.array_equal(*payloads)


def test_sound_stays_in_its_place(made: Made) -> None:
    """What a burst changes in the resynthesis lies around the burst: random weights keep no waveform, but the place."""
    rate, clip = made.card.sampling_rate, noise(made, 4.0)
    assert made.card.frame_rate is not None
    frame = round(rate / made.card.frame_rate)
    changed = clip.copy()
    start = 2 * rate // frame * frame
    changed[:, start : start + frame] *= -3
    before, after = (made.codec.decode(made.codec.encode(audio, rate)) for audio in (clip, changed))
    difference = np.convolve((after - before)[0].astype(np.float64) ** 2, np.ones(frame), mode="same")
    assert difference.max() > 0
    if fact(made.family, "LOOKS_AT_ONSET", default=False):
        onset = int(np.argmax(difference > 1e-3 * difference.max()))
        assert start - frame <= onset <= start + 2.5 * frame
        return
    # A recurrent layer remembers the burst for a while, so its peak is looked at, not its mean.
    assert abs(int(np.argmax(difference)) - (start + frame / 2)) < max(2.5 * frame, 0.1 * rate)


def test_a_later_change_of_sound_changes_nothing_far_before(made: Made) -> None:
    """Two clips that part at a sample have resyntheses that part there, no sooner than the card's latency allows."""
    rate, ahead = made.card.sampling_rate, made.card.latency_ms
    if ahead is None:
        pytest.skip("a sample of this codec waits for the whole clip")
    start = round((1 + 1e-3 * ahead) * rate)
    clip = noise(made, start / rate + 1)
    changed = clip.copy()
    changed[:, start:] *= -3
    one, other = (made.codec.decode(made.codec.encode(audio, rate))[0] for audio in (clip, changed))
    assert np.abs(one[start:] - other[start:]).max() > 1e-6
    differs = np.flatnonzero(np.abs(one - other) > 1e-6)
    assert differs[0] >= start - 1e-3 * ahead * rate


def test_stereo_and_other_rates_come_back_as_they_were(made: Made) -> None:
    """A stereo clip at 44.1 kHz is coded in mono and comes back at 44.1 kHz with its length."""
    clip = noise(made, 2.0, channels=2)[:, :20001]
    assert made.codec.decode(made.codec.encode(clip, 44100)).shape == (1, 20001)


def test_its_tokens_are_disturbed_and_learnt(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures of tokens are those of any other codec: every disturbance is counted, and a model trains on them."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path))
    check_disturbed(made.codec)
    check_learnt(made.codec)


def test_a_missing_file_is_named(made: Made, tmp_path: Path) -> None:
    """Weights that lack a file: the error names the file and the folder."""
    missing = fact(made.family, "FILE")
    for file in made.folder.rglob("*"):
        name = file.relative_to(made.folder)
        if file.is_file() and str(name) != missing:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).symlink_to(file)
    with pytest.raises(CodecUnusable, match=f"no file {missing} in the folder of weights"):
        made.another(tmp_path).load()


def test_without_weights_the_publisher_is_named(made: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Offline and without a folder, the error says which file of which publisher is missing."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    card = registry.card(made.card.name)
    assert card.weights is not None
    with pytest.raises(CodecUnusable, match=f"no file .* of {card.weights.source} .*`weights`"):
        IsolatedCodec(card).load()


def test_weights_of_another_model_are_refused(made: Made) -> None:
    """A checkpoint whose model is not the card's is an error at load, not other tokens."""
    several = made.card.codebook_sizes
    other = 4096 if made.card.codebook_size == 2048 else 2048
    field, size = ("codebook_sizes", (other,) * len(several)) if several else ("codebook_size", other)
    codec = made.another(made.folder, **{field: size})
    with pytest.raises(CodecUnusable, match=rf"expected weights of a model with {field} \[?{other}"):
        codec.load()


@pytest.mark.parametrize("name", [name for name in registry.names() if registry.card(name).isolation])
def test_the_card_is_complete(name: str) -> None:
    """An isolated codec's card names its package as the lock has it, its parameters, data, weights and paper."""
    card = registry.card(name)
    lock = lock_of(name)
    package, version = card.version.split()
    found = {each.name: each for each in lock.repositories}.get(package)
    if found is None:
        assert lock.pins[package] == version
        assert card.requirements == (f"{package}=={version}",)
    else:
        assert version == found.commit[:7]
        assert card.requirements == (f"{package} @ git+{found.url}@{found.commit}",)
    assert card.parameters
    assert card.training_data
    assert card.weights is not None
    assert card.weights.source != "random"
    assert card.token_kbps == pytest.approx(card.nominal_kbps)
    assert 2015 < card.year <= 2026
    assert card.homepage.startswith("https://")
    assert len(card.paper) > 20
