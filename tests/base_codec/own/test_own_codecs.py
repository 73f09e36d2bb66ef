"""Codecs of one's own: functions, torch modules and least cards work, and each mistake is one sentence."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from support.codecs.newcomer import SOURCE

from codec_superb.base_codec import registry
from codec_superb.base_codec.adapting import as_codec
from codec_superb.base_codec.errors import CodecError, RefusedSetting
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.interface import Codec
from codec_superb.base_codec.live import registered
from codec_superb.base_codec.options import CodecOptions

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the newcomer's file."""
    path = tmp_path_factory.mktemp("newcomer") / "my.py"
    path.write_text(SOURCE)
    return path


def clip() -> Audio:
    """Return a second of a tone at 16 kHz that swells and fades, not a whole number of frames."""
    tone = 0.1 * np.hanning(16_010) * np.sin(2 * np.pi * 440 / 16_000 * np.arange(16_010))
    return np.asarray(tone[None], dtype=np.float32)


def coded(codec: Codec) -> tuple[int | None, Audio]:
    """Code the clip; return the bits and the resynthesis."""
    encoded = codec.encode(clip(), 16_000)
    return encoded.bits, codec.decode(encoded)


@pytest.mark.parametrize(
    ("name", "card", "bits", "tolerance"),
    [
        ("resynthesise", "my_resynthesise", None, 0.0),
        ("as_tensor", "my_as_tensor", None, 0.0),
        ("with_channels", "my_with_channels", None, 0.0),
        ("at_its_rate", "mine_24k", None, 1e-4),
        ("Least", "least", 8 * 16_010, 1 / 127),
        ("Net", "my_net", 8 * 16_000, 1 / 127),
        ("make", "my_make", 8 * 16_000, 1 / 127),
        ("make_unknown", "my_make_unknown", None, 1 / 127),
        ("Forward", "my_forward", None, 1e-4),
    ],
)
def test_each_way_in_gives_the_sound_back(mine: Path, name: str, card: str, bits: int | None, tolerance: float) -> None:
    """A function, a maker, a module and a class with the least card are codecs; bits are counted or not known."""
    codec = registry.open_codec(f"{mine}:{name}")
    assert codec.card == registry.card(f"{mine}:{name}")
    assert codec.card.name == card
    assert codec.card.bit_source == ("unknown" if bits is None else "measured")
    found, sound = coded(codec)
    assert found == bits
    assert sound.shape == (1, 16_010)
    # what the models leave out of the last frame is silence
    assert np.abs(sound - clip())[:, :15_990].max() <= tolerance


def test_a_clip_that_fails_changes_nothing_for_the_others() -> None:
    """A function that has taken ``(samples,)`` is never given anything else."""
    shapes: list[tuple[int, ...]] = []

    def picky(audio: Audio, _rate: int) -> Audio:
        shapes.append(audio.shape)
        if audio.shape == (7,):
            raise ValueError("too short")
        return audio

    codec = as_codec(picky)
    coded(codec)
    with pytest.raises(CodecError, match="too short"):
        codec.encode(clip()[:, :7], 16_000)
    coded(codec)
    assert shapes == [(16_010,), (7,), (16_010,)]


def test_a_declared_bitrate_gives_the_bits_of_codecs_that_count_none(mine: Path) -> None:
    """Declared kbps times seconds; refused by codecs that count, and another bitrate is another run."""
    name, options = f"{mine}:resynthesise", CodecOptions(kbps=6)
    codec = registry.open_codec(name, options=options)
    assert (codec.card.bit_source, codec.card.nominal_kbps) == ("declared", 6)
    assert coded(codec)[0] == round(6000 * 16_010 / 16_000)
    assert registry.configure(name, options)[0] == codec.card
    assert codec.card.identity() != registry.configure(name, CodecOptions(kbps=7))[0].identity()
    for counts in ("opus_12k", f"{mine}:Net", f"{mine}:Least"):
        with pytest.raises(RefusedSetting, match="counts the bits of each clip: leave out kbps 6"):
            registry.open_codec(counts, options=options)
    with pytest.raises(RefusedSetting, match=r"expected a bitrate \(kbps\) above 0, got -1"):
        registry.open_codec(name, options=CodecOptions(kbps=-1))


def test_a_module_is_its_parameters(mine: Path) -> None:
    """Equal parameters are one codec, trained ones another; live objects take a name, a rate and a bitrate."""
    import torch

    live = registry.open_codec(f"{mine}:Forward")._module  # type: ignore[attr-defined]
    nets = [registry.open_codec(f"{mine}:Net")._module for _ in range(2)]  # type: ignore[attr-defined]
    with torch.no_grad():
        nets[1].gain.fill_(0.5)
    one, other = (as_codec(net, name="net").card for net in nets)
    assert one.weights
    assert other.weights
    assert one.weights.sha256 == as_codec(type(nets[0])()).card.weights.sha256  # type: ignore[union-attr]
    assert one.identity() != other.identity()
    assert one.parameters == 1
    card = as_codec(live, name="live", sampling_rate=8000, kbps=2).card
    assert (card.name, card.sampling_rate, card.nominal_kbps, card.weights) == ("live", 8000, 2, None)


MISTAKES = {
    "nothing": "returned None: end it with `return`",
    "a_list": r"returned list: return an array, np\.asarray",
    "with_rate": "returned tuple: return the sound alone",
    "words": "returned str: return the resynthesis as an array",
    "a_dict": "returned dict: return the entry that holds the sound",
    "a_module": "returned Forward: return the resynthesis as an array",
    "pieces": "is a generator: `return` one array",
    "an_iterator": "returned generator: return one array",
    "later": "is a coroutine: define it with `def`",
    "integers": "returned int16: samples are floats with full scale 1.0; divide by 32768",
    "integer_tensor": "returned int16: .* divide by 32768",
    "loud": r"returned a peak of \d+.*: full scale is 1.0; divide by 32768",
    "complex_numbers": "returned an array of complex64: return real samples",
    "not_finite": "returned NaN or Inf in 16010 of 16010 samples",
    "transposed": r"returned the shape \(16010, 1\), samples first: return its transpose, array.T",
    "stereo": r"returned 2 channels for 1: return \(1, 16010\)",
    "scalar": r"returned the shape \(\): return \(samples,\)",
    "empty": "returned no sample",
    "batches": r"returned the shape \(2, 1, 8005\): return \(samples,\) or",
    "too_short": "returned 8005 samples for 16010, 0.5 times as many: return as many as were given, at the same 16000",
    "too_long": "returned 32020 samples for 16010, 2 times as many: .* or state its own rate as `sampling_rate`",
    "bit_short": r"15310 samples for 16010: at most 640 \(40 ms\) may be missing at the end: pad .* frame_rate",
    "bit_long": r"19310 samples for 16010: at most 3200 \(200 ms\) may come behind the end: cut off what was padded",
    "exits": r"my.py:exits called sys.exit\(3\): raise an error that says why, or `return`",
    "exits_when_made": r"my.py:exits_when_made cannot be loaded: it called sys.exit\('no licence'\)",
    "Exits": r"least called sys.exit\(\): raise an error that says why",
    "Flat": r"my.py:Flat: forward, given float32 \(1, 1, 24015\), raised ValueError: too many values .* \(line \d+\)",
    "RawBytes": r"least: _encode returned bytes: return Packets\(payload\)",
    "Forgets": r"expected float32 \(1, at least 16010\) from the decoder, got None: end _decode with `return`",
    "Doubles": r"got float64 \(1, 16010\): return it as \.astype\('float32'\)",
    "NoSelf": r"my.py:NoSelf: expected _encode\(self, audio\), got _encode\(audio\)",
    "without_data": "returned a Tensor that has no samples",
    "raises": r"my.py:raises raised KeyError: 'key' \(line \d+\)",
    "rate_in_words": "sampling_rate: expected a valid integer.* got '24k'",
    "one_parameter": r"expected a function \(audio, rate\) -> audio, got \(audio\): take these two",
    "three_parameters": r"got \(audio, rate, bitrate\): take these two, and give defaults to all others",
    "fails_to_make": r"cannot be loaded: OSError: no file model.pt \(line \d+\); mend it",
    "makes_nothing": r"expected a function .* that returns one of them, got NoneType",
    "NeedsSize": r"needs size: write a function without parameters that returns NeedsSize\(…\)",
    "NoRate": "expected a module that states the rate at which it works.* set `sampling_rate = 24000`",
    "Floats": r"expected integer codes .* got float32 \(1, 1, 16010\)",
    "Few": "expected codes .*8, frames.* got 160: correct `codebooks`",
    "Small": "expected codes from 0 to 99 of codebook 1, got",
    "Tuples": "expected integer codes .* got tuple of 2: return the codes alone, or write a function",
    "NoCard": r'class attribute `card` that is a Card, got NoneType: card = Card\(name="mine", sampling_rate=24000\)',
    "DictCard": "class attribute `card` that is a Card, got dict",
    "NoDecode": "expected a class with _encode and _decode, it lacks _decode",
    "NoBits": r"expected the size of its payload in bits, got none: return Packets\(payload, bits=",
    "number": r"expected a function \(audio, rate\) -> audio, a torch module, a Codec .* got int",
    "own_card": "name: expected lower-case letters.* got 'Mine'; sampling_rate: expected .*; sample_rate is unknown",
    "absent": "has no absent; it has: ",
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_sentence(mine: Path, name: str) -> None:
    """Each of a newcomer's mistakes says in one line what came and what to change, and names the code."""
    with pytest.raises(CodecError, match=MISTAKES[name]) as raised:
        coded(registry.open_codec(f"{mine}:{name}"))
    said = str(raised.value)
    assert "\n" not in said
    assert "validation error" not in said
    assert "my.py" in said or "mine" in said or "least" in said


@pytest.mark.parametrize(
    ("card", "said"),
    [
        ("Card()", "name is missing: state it; sampling_rate is missing: state it"),
        ('Card(name="My codec", sampling_rate=16000)', "name: expected lower-case letters, digits, _ and . alone"),
        ('Card(name="a", sampling_rate="16k")', "sampling_rate: expected a valid integer.* got '16k'"),
        ('Card(name="a", sampling_rate=16000, kbps=6)', "kbps is unknown: take it out, or correct its name"),
        ('Card(name="a", sampling_rate=16000, causal=True)', "expected latency_ms as a number, for a causal codec"),
        ('Card(name="a", sampling_rate=16000, kind="deep")', "kind: expected 'classical'.* got 'deep'"),
        ('Card(name="a", sampling_rate=16000, bit_source="declared")', "expected nominal_kbps above 0"),
    ],
)
def test_a_wrong_card_is_a_sentence_for_each_field(tmp_path: Path, card: str, said: str) -> None:
    """No validation dump: which field, what was expected, what came."""
    (tmp_path / "my.py").write_text(f"from codec_superb.base_codec.card import Card\n\ncard = {card}\n")
    with pytest.raises(CodecError, match=said) as raised:
        registry.card(f"{tmp_path / 'my.py'}:card")
    assert "\n" not in str(raised.value)
    assert "(line 3)" in str(raised.value)
    assert "pydantic" not in str(raised.value)


def test_the_guides_least_codecs_run(tmp_path: Path) -> None:
    """The function, the module and the class at the beginning of docs/adding-a-codec.md are codecs as they stand."""
    guide = (Path(__file__).parents[3] / "docs" / "adding-a-codec.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", guide, flags=re.DOTALL)[:3]
    (tmp_path / "my.py").write_text("\n\n".join(blocks))
    made = {
        name: coded(registry.open_codec(f"{tmp_path / 'my.py'}:{name}")) for name in ("resynthesise", "make", "Mine")
    }
    assert [bits for bits, _ in made.values()] == [None, 8 * 16_010, 8 * 16_010]
    assert np.abs(made["resynthesise"][1]).max() == np.float32(0.05)
    assert all(np.abs(made[name][1] - clip()).max() <= 1 / 127 for name in ("make", "Mine"))


def test_a_function_and_a_module_carry_a_card(mine: Path) -> None:
    """What it states joins what follows from a module; bits are counted, declared by it, or not known all the same."""
    cards = {name: registry.card(f"{mine}:{name}") for name in ("with_card", "Stated", "Net")}
    assert all(cards[name].licence == "MIT" for name in ("with_card", "Stated"))
    assert (cards["with_card"].bit_source, cards["with_card"].input_rate) == ("declared", False)
    assert coded(registry.open_codec(f"{mine}:with_card"))[0] == round(8000 * 16_010 / 16_000)
    assert (cards["Stated"].bit_source, cards["Stated"].codebook_size) == ("measured", 256)
    assert cards["Stated"].weights
    assert cards["Net"].weights
    assert cards["Stated"].weights.sha256 == cards["Net"].weights.sha256
    assert coded(registry.open_codec(f"{mine}:Stated"))[0] == 8 * 16_000


def test_a_name_of_the_catalogue_is_refused(tmp_path: Path) -> None:
    """Neither a file's card nor a live object takes one; a codec of the catalogue that somebody opened is itself."""
    (tmp_path / "taken.py").write_text(
        "from codec_superb.base_codec.card import Card\n\n\ndef f(audio, rate):\n    return audio\n\n\n"
        'f.card = Card(name="opus_12k", sampling_rate=16000)\n'
    )
    said = "opus_12k is a codec of the catalogue.*: name your own codec otherwise, such as opus_12k.mine"
    with pytest.raises(RefusedSetting, match=said):
        registry.card(f"{tmp_path / 'taken.py'}:f")
    live = as_codec(lambda audio, _rate: audio, name="opus_12k")
    with registered(live, b"") as known, pytest.raises(RefusedSetting, match=said):
        registry.card(known)
    opened = registry.open_codec("opus_12k")
    with registered(opened, b"") as known:
        assert registry.card(known) == opened.card
    with (
        registered(as_codec(opened, name="opus_6k"), b"") as known,
        pytest.raises(RefusedSetting, match="opus_6k is a"),
    ):
        registry.card(known)


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_torchscript_is_a_module(tmp_path: Path) -> None:
    """A scripted module runs in place and as a file, and its failure is one line with the shape that it was given."""
    import torch

    (tmp_path / "net.py").write_text(
        "import torch\n\n\nclass Half(torch.nn.Module):\n    def forward(self, x: torch.Tensor) -> torch.Tensor:\n"
        "        return x.reshape(1, 1, -1, 10)[0, 0].flatten() / 2\n\n\n"
        "def scripted():\n    net = torch.jit.script(Half())\n    net.sampling_rate = 16000\n    return net\n"
    )
    codec = registry.open_codec(f"{tmp_path / 'net.py'}:scripted")
    assert np.array_equal(coded(codec)[1], clip() / 2)
    made = as_codec(codec._module, sampling_rate=8000)  # type: ignore[attr-defined]
    assert made.card.name == "half"
    with pytest.raises(
        CodecError, match=r"Half: forward, given float32 \(1, 1, 7\), raised .*: shape .* is invalid"
    ) as raised:
        made.encode(clip()[:, :7], 8000)
    assert "\n" not in str(raised.value)
    assert isinstance(made._module, torch.jit.ScriptModule)  # type: ignore[attr-defined]


halved = lambda audio, _rate: audio / 2  # noqa: E731 - what is tested


def test_a_lambda_has_the_name_that_it_is_known_by() -> None:
    """Two lambdas of one file are two codecs; one without a name goes by its line."""
    assert as_codec(halved).card.name == "halved"
    first, second = (as_codec(each).card.name for each in (
        lambda audio, _rate: audio,
        lambda audio, _rate: audio / 2,
    ))  # fmt: skip
    assert re.fullmatch(r"lambda_\d+", first)
    assert first != second


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("{0}", r"write {0}:NAME; it has: f, Mine$"),
        ("{0}:", r"write {0}:NAME; it has: f, Mine$"),
        ("{0}:a-b", r"write {0}:NAME; it has: f, Mine$"),
        ("{1}:f", r"names no file: write {0}:f$"),
        ("{1}.wav", r"is no codec: give sound as a dataset, --dataset {1}.wav"),
        ("none.py", r"^there is no file none.py: .* path/to/file.py:NAME$"),
        ("none.wav", r"^there is no file none.wav: "),
        ("{0}:exits", r"{0} has no exits; it has: f, Mine$"),
    ],
)
def test_a_path_is_answered_with_what_to_write(tmp_path: Path, given: str, said: str) -> None:
    """A file without a name in it, or sound in place of a codec, is not met with the families of the catalogue."""
    file = tmp_path / "own.py"
    file.write_text("def f(audio, rate):\n    return audio\n\n\nclass Mine:\n    pass\n")
    file.with_suffix(".wav").write_bytes(b"")
    places = (str(file), str(file.with_suffix("")))
    with pytest.raises(CodecError, match=said.format(*map(re.escape, places))):
        registry.card(given.format(*places))


def test_a_file_that_exits_while_it_is_imported_says_so(tmp_path: Path) -> None:
    """A script without a guard does not end the program."""
    (tmp_path / "script.py").write_text("import sys\n\nsys.exit(0)\n")
    with pytest.raises(CodecError, match=r"it calls sys.exit while it is imported: put that below `if __name__"):
        registry.card(f"{tmp_path / 'script.py'}:f")
