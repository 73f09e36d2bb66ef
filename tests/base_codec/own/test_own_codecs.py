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
