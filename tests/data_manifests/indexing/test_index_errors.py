"""A folder that is not what it should be is refused with the file, the line and what was expected there."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from support.datasets.layout_cases import CASES, Case
from support.datasets.layout_trees import write_clicks
from support.datasets.layouts import Tree

from codec_superb.data_manifests.errors import DatasetError, LayoutError, ManifestError, UnknownDataset
from codec_superb.data_manifests.home import datasets_home
from codec_superb.data_manifests.indexers import find_clips
from codec_superb.data_manifests.indexers.listing import IndexRequest
from codec_superb.data_manifests.indexing.index import index
from codec_superb.data_manifests.manifest import Partition

EXPECTED = {
    "librispeech": "test-clean",
    "librispeech_dev_clean": "dev-clean",
    "librispeech_test_clean": "test-clean",
    "aishell1": "transcript/aishell_transcript_v0.8.txt",
    "voxceleb1": "wav/id102[789]?",
    "speech_commands_v1": "bed",
    "quesst2014": "scoring/language_key_utterances.lst",
    "voxlingua107_top10": "dev/*/*.wav",
    "audio_snips": "all.iob.snips.txt",
    "fluent_speech_commands": "data/test_data.csv",
    "iemocap": "Session1/sentences/wav",
    "crema_d": "AudioWAV",
    "libri2mix": "wav16k/max/metadata/mixture_test_mix_both.csv",
    "libricount": "test/*.wav",
    "xares_libricount": "LibriCount/test/libricount_fold04.tar.gz",
    "esc50": "meta/esc50.csv",
    "fsd50k": "FSD50K.ground_truth/dev.csv",
    "gunshot_triangulation": "mic1raw.wav",
    "vocal_imitations": "vocal_imitations.txt",
    "opensinger": "ManRaw",
    "m4singer": "meta.json",
    "vocalset": "test_singers_technique.txt",
    "nsynth": "examples.json",
    "gtzan_genre": "blues/blues.*",
    "gtzan_music_speech": "music_wav/*",
    "speech_massive_de_de": "de-DE/test-*.parquet",
    "birdset_hsn": "HSN_metadata_test_5s.parquet",
    "fsd50k_eval": "FSD50K.ground_truth/eval.csv",
    "clotho_aqa": "clotho_aqa_test.csv",
    "speech_hsk": "data/hsk*-*.parquet",
    "ravdess": "Actor_*",
    "stamps": "tuxpaint-stamps-default_*_all.deb",
    "phone_prompts": "asterisk-core-sounds-en-wav_*_all.deb",
    "svq_en_us": "Parquet files with the columns utt_id, locale and waveform",
}


def _case(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_a_wrong_root_is_told_what_was_expected_where(name: str, tree: Tree) -> None:
    """An unrelated folder is refused with the first file or folder that the layout needs, and nothing is written."""
    tree.text("holiday/photo.txt", "")
    with pytest.raises(LayoutError) as raised:
        index(name, tree.root)
    assert EXPECTED[name] in str(raised.value)
    assert str(tree.root) in str(raised.value)
    assert not (datasets_home() / name / "index.json").exists()


def test_a_root_that_is_no_folder_is_refused(tree: Tree) -> None:
    """A path that does not exist and one that is a file are told apart."""
    tree.text("esc50.zip", "")
    with pytest.raises(LayoutError, match=r"is no folder: expected the folder that ESC-50"):
        index("esc50", tree.root / "esc50.zip")
    with pytest.raises(LayoutError, match="does not exist"):
        index("esc50", tree.root / "nowhere")
    with pytest.raises(LayoutError, match=r"--root DIR; it is published at https://github\.com/karolpiczak"):
        index("esc50", None)


def test_an_unknown_name_is_told_near_matches(tree: Tree) -> None:
    """A misspelt dataset answers with the right name."""
    with pytest.raises(UnknownDataset, match="librispeech"):
        index("libri_speech", tree.root)


def test_an_unknown_layout_is_an_error(tree: Tree) -> None:
    """A manifest that names no indexer is told which there are."""
    with pytest.raises(ManifestError, match=r"'cassette'; there are aishell1, audio_snips"):
        find_clips("cassette", IndexRequest(tree.root, Partition(text="all"), tree.root))


SPOIL = dict[str, Callable[[str], str]]
"""What must be said, as a regular expression -> what is done to the file."""


def _twice(number: int) -> Callable[[str], str]:
    """Return a function that repeats a line at the end."""
    return lambda text: text + text.splitlines()[number] + "\n"


def _more(line: str) -> Callable[[str], str]:
    """Return a function that adds a line."""
    return lambda text: text + line + "\n"


def _other(old: str, new: str) -> Callable[[str], str]:
    """Return a function that replaces a part."""
    return lambda text: text.replace(old, new)


BROKEN: dict[tuple[str, str], SPOIL] = {
    ("esc50", "ESC-50-master/meta/esc50.csv"): {
        "line 4: expected 7 fields, got 3": _more("a.wav,1,0"),
        "line 1: expected the columns filename": _other("category", "klass"),
        "line 4: .* twice": _twice(1),
    },
    ("fsd50k", "FSD50K.ground_truth/dev.csv"): {
        "line 5: .* twice": _more("16401,Rain,/m/06mb1,val"),
    },
    ("fluent_speech_commands", "fluent_speech_commands_dataset/data/test_data.csv"): {
        "line 2: .* does not begin with wavs/speakers/": _other("wavs/speakers/", "audio/"),
        "line 4: .* twice": _twice(1),
    },
    ("libri2mix", "Libri2Mix/wav16k/max/metadata/mixture_test_mix_both.csv"): {
        "line 3: .* not two LibriSpeech utterances": _other("_61-70968-0000,", ","),
        "line 4: .* twice": _twice(1),
    },
    ("librispeech", "LibriSpeech/test-clean/1089/134686/1089-134686.trans.txt"): {
        "line 4: .* twice": _twice(0),
        "line 4: expected SPEAKER-CHAPTER-UTTERANCE and words": _more("HELLO"),
    },
    ("aishell1", "data_aishell/transcript/aishell_transcript_v0.8.txt"): {
        "line 6: .* twice": _twice(0),
        "line 6: expected BAC009SxxxxWxxxx and words": _more("BAC009S0764W0125"),
    },
    ("voxceleb1", "veri_test2.txt"): {
        "line 3: expected 0 or 1": _more("2 id10270/a/00001.wav id10270/b/00001.wav"),
        "line 3: .* two clips": _more("1 id10270/a/00001.wav"),
    },
    ("quesst2014", "quesst14Database/scoring/language_key_dev.lst"): {
        "line 2: expected .* one of albanian": _more("quesst14Database/dev_queries/a.wav latin"),
        "line 2: .* twice": _twice(0),
    },
    ("audio_snips", "all.iob.snips.txt"): {
        "line 6: expected NAME BOS": _more("Brian-snips-test-9 play jazz"),
        "line 6: .* twice": _twice(0),
    },
    ("iemocap", "IEMOCAP_full_release/Session1/dialog/EmoEvaluation/Ses01F_impro01.txt"): {
        "line 3: expected .* emotion": _other("\tneu\t", "\thungry\t"),
    },
    ("libricount", "test/2_a1b2.json"): {
        "expected 2 speakers, as its name says, got 0": lambda _text: "[]",
        "expected the whole to be a list": lambda _text: "{}",
    },
    ("vocal_imitations", "VocalImitationSet/vocal_imitations.txt"): {
        "line 2: expected included to be True or False": _other("True", "maybe"),
        "line 5: .* twice": _twice(1),
    },
    ("m4singer", "m4singer/meta.json"): {
        "item 2: .* twice": _other("#0002", "#0000"),
        "item 1: expected item_name": _other('"txt"', '"words"'),
        "line 1: no JSON": lambda text: text[:-2],
    },
    ("vocalset", "test_singers_technique.txt"): {
        "line 4: expected a singer": _more("tenor"),
    },
    ("nsynth", "nsynth-test/examples.json"): {
        "has no pitch": _other('"pitch"', '"tone"'),
        "given twice": _other("050-025", "049-025"),
    },
}


@pytest.mark.parametrize(
    ("name", "path", "spoil", "message"),
    [(name, path, spoil, message) for (name, path), spoils in BROKEN.items() for message, spoil in spoils.items()],
)
def test_a_malformed_file_is_named_with_its_line(
    name: str, path: str, spoil: Callable[[str], str], message: str, tree: Tree
) -> None:
    """A publisher's file with a damaged, doubled or unexpected entry ends the index; the error points there."""
    _case(name).build(tree)
    file = tree.root / path
    file.write_text(spoil(file.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(LayoutError, match=message) as raised:
        index(name, tree.root)
    assert path in str(raised.value)


def test_text_that_is_no_utf8_is_named(tree: Tree) -> None:
    """A table in another encoding is refused with its name, not with a traceback."""
    _case("esc50").build(tree)
    (tree.root / "ESC-50-master/meta/esc50.csv").write_bytes(b"filename,fold\n\xff\xfe,1\n")
    with pytest.raises(LayoutError, match=r"esc50\.csv .*no UTF-8"):
        index("esc50", tree.root)


def test_two_files_of_one_clip_are_an_error(tree: Tree) -> None:
    """The same clip in two formats gives one id twice: which one is meant cannot be known."""
    _case("gtzan_genre").build(tree)
    tree.audio("genres/blues/blues.00000.wav")
    with pytest.raises(ManifestError, match=r"'blues/blues\.00000' is given twice"):
        index("gtzan_genre", tree.root)


def test_a_partition_without_a_clip_is_an_error(tree: Tree) -> None:
    """A folder that has only other splits makes no empty dataset."""
    tree.audio("LibriSpeech/test-clean/notes.wav")
    with pytest.raises(LayoutError, match="no clip of the partition"):
        index("librispeech", tree.root)


def test_recordings_of_gunshots_must_be_whole(tree: Tree) -> None:
    """A missing, short or silent recording is refused, since its clips would carry wrong labels."""
    _case("gunshot_triangulation").build(tree)
    (tree.root / "mic4raw.wav").rename(tree.root / "mic4.wav")
    with pytest.raises(LayoutError, match=r"mic4raw\.wav not there"):
        index("gunshot_triangulation", tree.root)
    write_clicks(tree.root / "mic4raw.wav", [], 0.0, 48_000)
    with pytest.raises(LayoutError, match=r"mic4raw\.wav: expected more than 142 s"):
        index("gunshot_triangulation", tree.root)
    write_clicks(tree.root / "mic4raw.wav", [], 0.0, 7_000_000)
    with pytest.raises(LayoutError, match=r"microphone 4 ends before the end of shot 7"):
        index("gunshot_triangulation", tree.root)
    write_clicks(tree.root / "mic1raw.wav", [16_000_000], 0.9, 17_000_000)
    with pytest.raises(LayoutError, match="expected 22 shots after the alignment, found 1"):
        index("gunshot_triangulation", tree.root)


def test_a_name_that_is_no_utf8_asks_to_unpack_again(tree: Tree) -> None:
    """Songs unpacked with the wrong encoding have names that a clip list cannot hold; the error says what to do."""
    _case("gtzan_music_speech").build(tree)
    folder = bytes(tree.root / "music_speech/music_wav")
    (tree.root / "music_speech/music_wav/bagpipe.wav").rename(os.fsdecode(folder + b"/\xb0\xa1.wav"))
    with pytest.raises(LayoutError, match="unpack the archive again"):
        index("gtzan_music_speech", tree.root)


def test_a_dataset_of_package_files_is_not_indexed(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """`mini` is prepared; asking for its index names the command."""
    with pytest.raises(DatasetError, match="datasets prepare mini"):
        index("mini", tree.root)
