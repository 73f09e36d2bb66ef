"""The registry: names to cards without imports, clear errors, and codecs from files and from other packages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.stranger import Copy
from support.timing import quickest

from codec_superb.base_codec import registry
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.catalogue_file import merge, read_catalogue
from codec_superb.base_codec.errors import CatalogueError, MissingDependency, RefusedSetting, UnknownCodec
from codec_superb.base_codec.options import CodecOptions
from codec_superb.cli.main import call
from codec_superb.plugins import PluginWarning

GUIDE = Path(__file__).parents[2] / "docs" / "adding-a-codec.md"
HEAVY = ("av", "soxr", "scipy", "torch", "lc3", "pycodec2", "soundfile", "pyarrow", "plotly", "numba")
CATALOGUE = """
family: {family}
target: {target}
card: {{title: Test, version: "1", kind: classical, standard: none, year: 2020, sampling_rate: 8000, channels: [1],
       frame_samples: 160, causal: true, delay_samples: 40, licence: MIT, paper: none, homepage: "https://example.org"}}
codecs:
  {name}: {{nominal_kbps: 8}}
"""


def guide_blocks(language: str) -> list[str]:
    """Return the code blocks of docs/adding-a-codec.md in one language."""
    return re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.fixture
def other_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make an installed package ``other_codecs`` with an entry point; its catalogue is the test's to write."""
    info = tmp_path / "other_codecs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-codecs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[codec_superb.codecs]\nother = other_codecs:codecs.yaml\n")
    package = tmp_path / "other_codecs"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry.reload_catalogue()
    yield package
    registry.reload_catalogue()
    for name in [name for name in sys.modules if name.split(".")[0] == "other_codecs"]:
        del sys.modules[name]


def test_reading_every_card_imports_no_codec() -> None:
    """All names and cards are read without one of the heavy packages, in a few times what importing pydantic takes."""
    program = (
        "import json, sys, time; start = time.process_time()\n"
        "import pydantic.fields, yaml; ready = time.process_time()\n"
        "from codec_superb.base_codec import registry\n"
        "cards = [registry.card(name) for name in registry.names()]\n"
        "print(json.dumps([len(cards), (time.process_time() - ready) / (ready - start), sorted(sys.modules)]))\n"
    )

    def read() -> float:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        count, times, modules = json.loads(done.stdout)
        assert count == len(registry.names())
        assert not set(HEAVY) & set(modules)
        return float(times)

    assert quickest(read, 9) < 9  # 3 where nothing else disturbs the caches


def test_names_are_sorted_by_family_then_bitrate() -> None:
    """A family stays together and its bitrates rise."""
    cards = [registry.card(name) for name in registry.names()]
    keys = [(card.family, card.nominal_kbps or float("inf")) for card in cards]
    assert keys == sorted(keys)
    assert registry.names().index("opus_6k") < registry.names().index("opus_128k")


def test_an_unknown_name_answers_with_near_matches_and_what_exists() -> None:
    """A typing error is met with the names that look like it, then with families, which name their codecs."""
    for ask in (registry.card, registry.open_codec):
        with pytest.raises(UnknownCodec, match=r"no codec is named 'Opus_12': did you mean .*opus_12k") as raised:
            ask("Opus_12")
        families = str(raised.value).rpartition(": ")[2].split(", ")
        assert {registry.card(name).family for name in registry.names()} == set(families)
    with pytest.raises(UnknownCodec, match=r"named '~~~': there are \d+ in \d+ families, which .* names: aac, "):
        registry.card("~~~")
    with pytest.raises(UnknownCodec, match=r"'sqcodec' is a family and no codec; its codecs are sqcodec_16k_0k75bps, "):
        registry.card("sqcodec")


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("package", "name", "command"),
    [("av", "opus_12k", "pip install 'av>=18.1,<19'"), ("lc3", "lc3_32k", "pip install 'lc3py>=1.1.3,<2'")],
)
@pytest.mark.sample(2, among="packages that lack something")
def test_a_missing_package_answers_with_the_install_command(package: str, name: str, command: str) -> None:
    """Where a wrapper's package is not installed, the error is one line with the command, and the card still shows."""
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from codec_superb.base_codec import registry\n"
        f"registry.card({name!r})\n"
        f"try: registry.open_codec({name!r})\n"
        "except registry.MissingDependency as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{name} needs {package}, which is not installed: {command}\n"


@pytest.mark.sample(2, among="packages that lack something")
def test_a_broken_package_answers_with_the_command_that_mends_it(tmp_path: Path) -> None:
    """A package that is installed and cannot be imported (a missing system library) gives one line, no traceback."""
    (tmp_path / "av.py").write_text("raise ImportError('libx.so.3: cannot open shared object file')\n")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from codec_superb.base_codec import registry\n"
        "try: registry.open_codec('opus_12k')\n"
        "except registry.MissingDependency as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "libx.so.3" in done.stdout
    assert done.stdout.endswith("pip install --force-reinstall 'av>=18.1,<19'\n")


def test_a_package_adds_codecs_by_entry_point(other_package: Path) -> None:
    """The catalogue file of an installed package is read without importing it, and its codec runs."""
    (other_package / "codecs.yaml").write_text(
        CATALOGUE.format(family="other", target="other_codecs.codec:Other", name="other_8k")
    )
    (other_package / "codec.py").write_text("from codec_superb.base_codec.families.libav import LibavCodec as Other\n")
    assert "other_8k" in registry.names()
    assert registry.card("other_8k").latency_ms == 25
    assert "other_codecs" not in sys.modules
    with pytest.raises(RefusedSetting, match="encoder"):
        registry.open_codec("other_8k")
    assert "other_codecs.codec" in sys.modules


def test_a_name_taken_twice_shows_both_targets(other_package: Path) -> None:
    """A package that brings a codec called opus_12k is refused, with both classes and both files named."""
    (other_package / "codecs.yaml").write_text(CATALOGUE.format(family="opus", target="os.path:join", name="opus_12k"))
    with pytest.raises(CatalogueError, match=r"named opus_12k: .*opus:OpusCodec in opus.yaml and os.path:join in"):
        registry.names()


@pytest.mark.sample(2, among="packages that lack something")
def test_an_entry_point_without_a_file_costs_itself(other_package: Path) -> None:
    """One that leads to no catalogue file, or to a bad one, is named once with its distribution; the others stay."""
    expected = r"entry point other \(other_codecs:codecs.yaml\) of other-codecs 1.0: expected package:file"
    with pytest.warns(PluginWarning, match=expected):
        assert "opus_12k" in registry.names()
    assert "opus_12k" in registry.names()
    (other_package / "codecs.yaml").write_text("family: x")
    registry.reload_catalogue()
    with pytest.warns(PluginWarning, match=r"of other-codecs 1.0 is not a catalogue file"):
        assert "opus_12k" in registry.names()


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("target", "code", "error", "message"),
    [
        ("other_codecs.nowhere:X", "", CatalogueError, "other_codecs.nowhere:X, which does not exist"),
        ("other_codecs.codec:X", "", CatalogueError, "other_codecs.codec:X, which does not exist"),
        ("other_codecs.codec:X", "import no_such_package", MissingDependency, "installed: pip install no_such_package"),
    ],
)
def test_a_dead_target_is_told_from_a_missing_package(
    other_package: Path, target: str, code: str, error: type[Exception], message: str
) -> None:
    """A target that does not exist is the catalogue's fault; a package that its module imports is one to install."""
    (other_package / "codecs.yaml").write_text(CATALOGUE.format(family="other", target=target, name="other_8k"))
    (other_package / "codec.py").write_text(code)
    with pytest.raises(error, match=message):
        registry.open_codec("other_8k")


@pytest.mark.sample(2, among="packages that lack something")
def test_an_extra_is_named_where_the_card_has_one(other_package: Path) -> None:
    """A codec of an extra answers with the extra's install command."""
    text = CATALOGUE.format(family="other", target="other_codecs.codec:X", name="other_8k")
    (other_package / "codecs.yaml").write_text(text.replace("causal: true", "causal: true, extra: neural"))
    (other_package / "codec.py").write_text("import no_such_package\n")
    with pytest.raises(MissingDependency, match=r"pip install 'codec-superb\[neural\]'$"):
        registry.open_codec("other_8k")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "is not YAML"),
        ("family: x", "is not a catalogue file"),
        (CATALOGUE.format(family="x", target="no colon", name="x_8k"), "target"),
        (CATALOGUE.format(family="x", target="a:B", name="X 8"), "card of X 8 is not valid"),
        (CATALOGUE.format(family="x", target="a:B", name="x_8k").replace("year: 2020", "yeer: 2020"), "yeer"),
        (CATALOGUE.format(family="x", target="a:B", name="x_8k").replace("title: Test", 'title: "{who}"'), "who"),
        (
            CATALOGUE.format(family="x", target="a:B", name="x_8k").replace("causal: true", "causal: false"),
            "card of x_8k .* expected latency_ms of a codec that is not causal, got none; state .*, or null",
        ),
        (
            CATALOGUE.format(family="x", target="a:B", name="x_8k").replace(
                "causal: true", "causal: true, latency_ms: null"
            ),
            r"(?s)card of x_8k .* expected latency_ms as a number, for a causal codec, got none; .* causal: false",
        ),
    ],
)
def test_a_wrong_catalogue_file_names_the_file_and_the_field(text: str, message: str) -> None:
    """YAML that is broken, incomplete or misspelt is refused with the file's name and what is wrong."""
    with pytest.raises(CatalogueError, match=message) as raised:
        read_catalogue(text, "mine.yaml")
    assert "mine.yaml" in str(raised.value)


def test_a_catalogue_may_hold_any_target() -> None:
    """Reading and merging looks at no target: `os.path:join` is as good as a codec until it is opened."""
    entries = read_catalogue(CATALOGUE.format(family="x", target="os.path:join", name="x_8k"), "mine.yaml")
    assert merge(entries)["x_8k"].target == "os.path:join"
    assert (entries[0].card.frame_rate, entries[0].card.latency_ms) == (50, 25)


def test_a_codec_that_is_not_causal_states_how_long_a_sample_waits() -> None:
    """A catalogue file's number, or null for the whole clip, is taken as it is; nothing is derived from the frame."""
    text = CATALOGUE.format(family="x", target="os.path:join", name="x_8k")
    for stated, expected in (("62.5", 62.5), ("null", None)):
        changed = text.replace("causal: true", f"causal: false, latency_ms: {stated}")
        assert read_catalogue(changed, "mine.yaml")[0].card.latency_ms == expected


@pytest.mark.sample(1, among="programs about codecs")
def test_showing_a_card_says_what_its_samples_wait_for(capsys: pytest.CaptureFixture[str]) -> None:
    """`codecs show` has a line for a latency that is no number, as for one that is."""
    for name, expected in (("speechtokenizer_4k", "latency_ms the whole clip"), ("dac_44k", "latency_ms 212.336")):
        assert call(["codecs", "show", name]) == 0
        assert expected in " ".join(capsys.readouterr().out.split())


def test_blocks_are_as_long_as_their_notes_say() -> None:
    """Three families fill a clip to blocks of so many seconds, as their notes on bitrate say; others to frames."""
    blocks = [card for card in map(registry.card, registry.names()) if card.block_frames > 1]
    assert {card.family for card in blocks} == {"semanticodec", "snac", "sqcodec"}
    for card in blocks:
        assert card.frame_rate is not None
        seconds = card.block_frames / card.frame_rate
        named = re.search(r"last block (?:of attention, (\d+) ms|of ([\d.]+) s)", card.bitrate_note or "")
        assert named is not None
        assert seconds == pytest.approx(float(named[2]) if named[2] else int(named[1]) / 1000, abs=6e-4)


def test_a_neural_card_states_the_licences_of_code_and_weights_apart() -> None:
    """One form for all of them, and the same weights have the same licence on every card that names them."""
    cards = [card for card in map(registry.card, registry.names()) if card.kind == "neural"]
    of_weights: dict[str, set[str]] = {}
    for card in cards:
        found = re.fullmatch(r"code: (\S.+); weights: (\S.+)", card.licence)
        assert found is not None, card.name
        assert card.weights is not None
        of_weights.setdefault(card.weights.source, set()).add(found[2])
    assert all(len(stated) == 1 for stated in of_weights.values()), of_weights
    encodec = {
        registry.card(name).licence.split("; weights: ")[1] for name in ("encodec_24k_6bps", "encodec_original_24k_6k")
    }
    assert len(encodec) == 1


def test_no_card_waits_for_less_than_a_frame() -> None:
    """Latencies hold the frame, which is the least; codecs that look ahead by convolutions hold more than ten of them.

    Whole clips, which no number tells, are those of codecs with attention, recurrence or levels over all of one.
    """
    cards = [registry.card(name) for name in registry.names()]
    whole = {card.family for card in cards if card.latency_ms is None}
    assert whole == {
        "academicodec", "auv", "dualcodec", "focalcodec", "funcodec", "higgs_audio_v2", "kanade", "l3ac", "llmcodec",
        "longcat_audio_codec", "mimo_audio_tokenizer", "neucodec", "neucodec_distilled", "s3tokenizer", "semanticodec",
        "spark_bicodec", "speechtokenizer", "speechtokenizer_snake", "sqcodec", "stable_codec", "stable_codec_base",
        "unicodec", "wavtokenizer", "xcodec", "xcodec2", "xcodec_hubert_general", "xcodec_hubert_general_balanced",
        "xcodec_wavlm_mls", "xcodec_wavlm_more_data", "xy_tokenizer",
    }  # fmt: skip
    for card in cards:
        if card.latency_ms is not None and card.frame_rate is not None:
            assert card.latency_ms >= 1000 / card.frame_rate - 1e-3
            assert card.causal or card.latency_ms > 1.5 * 1000 / card.frame_rate


def test_the_guides_codec_runs_from_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twenty lines of docs/adding-a-codec.md, saved as a file, are a codec, and the guide's test of it passes."""
    codec, test, _ = guide_blocks("python")[3:]
    assert len(codec.strip().splitlines()) <= 22
    (tmp_path / "pcm8.py").write_text(codec)
    monkeypatch.chdir(tmp_path)
    assert registry.card("pcm8.py:Pcm8").name == "pcm8_128k"
    scope: dict[str, object] = {}
    exec(compile(test, "docs/adding-a-codec.md", "exec"), scope)
    check = scope["test_pcm8_keeps_length_place_and_bits"]
    assert callable(check)
    check()


def test_the_guides_weights_reach_its_codec(tmp_path: Path) -> None:
    """The guide's class with a checkpoint reads it beside its file, and in a folder that is given."""
    codec, _, trained = guide_blocks("python")[3:]
    (tmp_path / "pcm8.py").write_text(codec + trained)
    (tmp_path / "other").mkdir()
    np.save(tmp_path / "ckpt.npy", np.float32(0.5))
    np.save(tmp_path / "other" / "ckpt.npy", np.float32(0.25))
    clip = (0.1 * np.random.default_rng(0).standard_normal((1, 3200))).astype(np.float32)
    opened = [
        registry.open_codec(f"{tmp_path / 'pcm8.py'}:{name}", options=CodecOptions(weights=folder))
        for name, folder in (("Pcm8", None), ("Trained8", None), ("Trained8", str(tmp_path / "other")))
    ]
    whole, half, quarter = (each.decode(each.encode(clip, 16000)) for each in opened)
    assert np.array_equal(half, whole / 2)
    assert np.array_equal(quarter, whole / 4)


def test_the_guides_catalogue_is_valid() -> None:
    """The YAML that the guide shows makes a valid card, whose bitrate agrees with its tokens."""
    text = next(block for block in guide_blocks("yaml") if "my_codec" in block)
    (entry,) = read_catalogue(text, "guide")
    assert entry.card.token_kbps == entry.card.nominal_kbps == 6


@pytest.mark.sample(1, among="programs about codecs")
@pytest.mark.sample(1, among="guides carried out")
def test_a_codec_of_ffmpeg_is_one_file(tmp_path: Path) -> None:
    """The guide's catalogue entry, put into a copy, passes what every codec must, and no other file changes."""
    entry = next(block for block in guide_blocks("yaml") if "pcm8_128k" in block)
    copy = Copy(tmp_path)
    copy.write("base_codec/catalogue/pcm8.yaml", entry)
    copy.test("tests/base_codec/test_every_codec.py", "-k", "pcm8_128k")
    assert len(copy.touched) == 1


def test_the_guide_explains_every_field_of_a_card() -> None:
    """No field of the card is missing from the guide."""
    guide = GUIDE.read_text(encoding="utf-8")
    assert [field for field in Card.model_fields if f"`{field}`" not in guide] == []


@pytest.mark.parametrize(
    ("name", "code", "error", "message"),
    [
        ("gone.py:X", None, UnknownCodec, r"no file .*/gone\.py"),
        ("mine.py:X", "y = 1\n", UnknownCodec, "has no X; it has: no class and no function"),
        ("mine.py:Codex", "{codec}", UnknownCodec, "has no Codex; it has: Pcm8"),
        ("mine.py:Bare", "{bare}", CatalogueError, "class attribute `card` that is a Card, got"),
        ("mine.py:X", "import no_such_package\n", MissingDependency, "pip install no_such_package"),
        (
            "mine.py:X",
            "one = 1\nx = one / 0\n",
            CatalogueError,
            r"imported: ZeroDivisionError: .* \(line 2\)",
        ),
        ("mine.py:X", "one = 1\n\ndef (\n", CatalogueError, r"imported: SyntaxError: .* \(line 3\)"),
        ("mine.py:X", "from json import nothing\n", CatalogueError, r"cannot import name 'nothing' .* \(line 1\)"),
    ],
)
def test_a_wrong_codec_file_says_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str | None, error: type[Exception], message: str
) -> None:
    """A missing file, a missing class, a class without a card and a missing package each have an error of their own."""
    monkeypatch.chdir(tmp_path)
    bare = "from codec_superb.base_codec.interface import Codec\nclass Bare(Codec): pass\n"
    if code is not None:
        text = code.replace("{codec}", guide_blocks("python")[3]).replace("{bare}", textwrap.dedent(bare))
        (tmp_path / "mine.py").write_text(text)
    with pytest.raises(error, match=message):
        registry.open_codec(name)


def test_files_of_one_name_do_not_meet(tmp_path: Path) -> None:
    """Two files called codec.py in two folders are two codecs."""
    source = guide_blocks("python")[3]
    for folder, steps in (("a", "127"), ("b", "7")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "codec.py").write_text(source.replace("127", steps))
    clip = np.linspace(-1, 1, 500, dtype=np.float32)[None]
    sounds = []
    for folder in ("a", "b"):
        codec = registry.open_codec(f"{tmp_path / folder / 'codec.py'}:Pcm8")
        sounds.append(codec.decode(codec.encode(clip, 16000)))
    assert np.unique(sounds[0]).size > 200
    assert np.unique(sounds[1]).size == 15
