"""Datasets whose manifests describe their tables, each in a small tree with the publisher's names and columns."""

# ruff: noqa: E501 -- tables of publishers, a line each

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.datasets.layouts import Tree
from support.datasets.package_files import noise, wav_bytes
from support.datasets.parquet_tables import write_table

from codec_superb.data_manifests.catalogue import load_manifest
from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers import IndexRequest, Listing, find_clips
from codec_superb.data_manifests.manifest import LocalSource

Build = Callable[[Tree], None]


def _files(table: str, content: str, *audio: str) -> Build:
    def build(tree: Tree) -> None:
        tree.text(table, content)
        for path in audio:
            (tree.root / path).parent.mkdir(parents=True, exist_ok=True)
            (tree.root / path).write_bytes(b"")

    return build


def _rows(path: str, **cells: Any) -> Build:
    sound = {"bytes": wav_bytes(noise(0.02, 16_000), 16_000), "path": "x.wav"}
    return lambda tree: (write_table(tree.root / path, [{"audio": sound, **cells}]), None)[1]


def _covost(tree: Tree) -> None:
    tree.text("validated.tsv", 'client_id\tpath\tsentence\nann\ta.mp3\tHe said "yes.\nbob\tb.mp3\tNo.\n')
    for code, text in (("de", "Er sagte Ja."), ("zh-CN", "他说是。")):
        rows = f"a.mp3\t{text}\ttest\nb.mp3\tx\ttrain\nc.mp3\ty\ttest\n"
        tree.text(f"covost_v2.en_{code}.tsv", "path\ttranslation\tsplit\n" + rows)
    for code in ("ar", "ca", "cy", "et", "fa", "id", "ja", "lv", "mn", "sl", "sv-SE", "ta", "tr"):
        tree.text(f"covost_v2.en_{code}.tsv", "path\ttranslation\tsplit\n")
    _files("x", "", "clips/a.mp3")(tree)


# dataset, its tree, an id, and what the clip's labels must hold
_CASES: tuple[tuple[str, Build, str, dict[str, Any]], ...] = (
    ("covost2_en", _covost, "clips/a", {
        "text": 'He said "yes.', "speaker": "ann", "extra": {"translation_de": "Er sagte Ja.", "translation_zh": "他说是。"},
    }),
    ("common_voice_15_yue", _files(
        "cv-corpus-15.0-2023-09-08/yue/test.tsv", "client_id\tpath\tsentence\tage\tgender\nann\ta.mp3\t你好\t\tfemale\n",
        "cv-corpus-15.0-2023-09-08/yue/clips/a.mp3",
    ), "clips/a", {"text": "你好", "language": "yue", "extra": {"gender": "female"}}),
    ("fleurs_ko_kr", _files(
        "ko_kr/test.tsv", '1680\t1.wav\t"네."\t네\t네 |\t9\tMALE\n', "ko_kr/test/1.wav",
    ), "test/1", {"text": '"네."', "language": "ko-KR", "extra": {"sentence": "1680", "normalised": "네", "gender": "male"}}),
    ("mls_nl", _files(
        "mls_dutch/test/transcripts.txt", "17_2_03\tgoede dag\n", "mls_dutch/test/audio/17/2/17_2_03.flac",
    ), "17_2_03", {"text": "goede dag", "speaker": "17", "language": "nl", "extra": {"book": "2"}}),
    ("voxpopuli_en", _files(
        "asr_test.tsv", "id\traw_text\tnormalized_text\tspeaker_id\n20180206-x\tA B.\ta b\t9\n", "2018/20180206-x.ogg",
    ), "20180206-x", {"text": "a b", "speaker": "9"}),
    ("meld", _files(
        "test_sent_emo.csv", 'Utterance,Speaker,Emotion,Sentiment,Dialogue_ID,Utterance_ID\n"So, no?",Joey,Joy,Positive,3,1\n',
        "wav/dia3_utt1.wav",
    ), "dia3_utt1", {"text": "So, no?", "emotion": "joy", "extra": {"sentiment": "positive", "dialogue": "3"}}),
    ("tess", _files(
        "x", "", "OAF_happy/OA_bite_happy.wav", "YAF_pleasant_surprised/YAF_back_ps.wav",
    ), "YAF_back_ps", {"text": "Say the word back", "emotion": "pleasant surprise", "speaker": "YAF"}),
    ("mmau_test_mini", _files("mmau-test-mini.json", """[{"id": "7f", "audio_id": "./test-mini-audios/7f.wav",
        "question": "Who?", "choices": ["A man", "A woman"], "answer": "A man", "task": "sound"}]""",
        "test-mini-audios/7f.wav",
    ), "7f", {"question": "Who?", "choices": ("A man", "A woman"), "answers": ("A man",)}),
    ("mmsu", _files("question/mmsu.jsonl", '{"id": "q1", "audio_path": "audio/q1.wav", "question": "Which?", "choice_a": "one", '
        '"choice_b": "two", "choice_c": "six", "choice_d": "ten", "answer_gt": "two"}\n', "audio/q1.wav",
    ), "q1", {"choices": ("one", "two", "six", "ten"), "answers": ("two",)}),
    ("air_bench_foundation", _files("Foundation_meta.json", """[{"path": "1.wav", "question": "Which?", "choice_a": "x",
        "choice_b": "y", "answer_gt": "y", "task_name": "Genre", "dataset_name": "fma", "uniq_id": 12}]""", "Genre_fma/1.wav",
    ), "12", {"choices": ("x", "y"), "answers": ("y",), "extra": {"subject": "Genre", "part": "fma"}}),
    ("air_bench_chat", _files("Chat_meta.json", """[{"path": "1.wav", "question": "Why?", "answer_gt": "So.",
        "meta_info": "A dog.", "task_name": "sound", "dataset_name": "clotho", "uniq_id": 3}]""", "sound_clotho/1.wav",
    ), "3", {"question": "Why?", "answers": ("So.",), "extra": {"meta_info": "A dog.", "subject": "sound", "part": "clotho"}}),
    ("peoples_speech", _rows(
        "test/test-00000-of-00001.parquet", id="07282016_SLASH_forum_DOT_mp3_00012.flac", duration_ms=20, text="so we",
    ), "07282016_SLASH_forum_DOT_mp3_00012", {"text": "so we", "extra": {"recording": "07282016_SLASH_forum_DOT_mp3"}}),
    ("voicebench_ifeval", _rows(
        "ifeval/test-00000-of-00001.parquet", prompt="Write.", instruction_id_list=["a:b"], kwargs=[{"n": 2}],
    ), "test/1", {"text": "Write.", "extra": {"instruction_id_list": '["a:b"]', "kwargs": '[{"n": 2}]'}}),
    ("voicebench_mmsu", _rows(
        "mmsu/law-00000-of-00001.parquet", prompt="Which?", reference="D",
    ), "law/1", {"choices": ("A", "B", "C", "D"), "answers": ("D",), "extra": {"subject": "law"}}),
    ("speech_web_questions", _rows(
        "data/test-00000-of-00001.parquet", answers=["Rome", "Roma"],
    ), "test/1", {"answers": ("Rome", "Roma")}),
    ("chords", _files("Major/M_1.wav", "", "Minor/m 1.wav"), "Minor/m 1", {"events": ("minor",)}),
    ("cat_dog", _files("cat_1.wav", "", "dog_barking_12.wav"), "dog_barking_12", {"events": ("dog",)}),
    ("audio_mnist", _files("01/0_01_0.wav", "", "60/7_60_49.wav"), "60/7_60_49", {"events": ("7",), "speaker": "60"}),
    ("vocalsound", _files(
        "datafiles/te.json", '{"data": [{"wav": "/d/f0003_0_throatclearing.wav", "labels": "/m/1"}]}',
        "audio_16k/f0003_0_throatclearing.wav",
    ), "f0003_0_throatclearing", {"events": ("throat clearing",), "speaker": "f0003", "extra": {"gender": "female"}}),
    ("desed_public_eval", _files(
        "metadata/eval/public.tsv", "filename\tonset\toffset\tevent_label\na.wav\t0\t1\tDog\na.wav\t2\t3\tRunning_water\n",
        "audio/eval/public/a.wav",
    ), "a", {"events": ("Dog", "Running water")}),
    ("heart_sounds", _files(
        "set_a.csv", "dataset,fname,label,sublabel\na,set_a/m1.wav,murmur,\na,set_a/u.wav,,\n", "set_a/m1.wav",
    ), "set_a/m1", {"events": ("murmur",)}),
    ("clotho", _files(
        "clotho_captions_evaluation.csv", 'file_name,caption_1,caption_2,caption_3,caption_4,caption_5\na.wav,"A, b",c,d,e,f\n',
        "evaluation/a.wav",
    ), "a", {"answers": ("A, b", "c", "d", "e", "f")}),
    ("audiocaps", _files(
        "test.csv", "audiocap_id,youtube_id,start_time,caption\n1,-x,30,Rain\n2,-x,30,It rains\n", "test/-x_30.wav",
    ), "-x_30", {"answers": ("Rain", "It rains")}),
    ("wavcaps_soundbible", _files(
        "json_files/SoundBible/sb_final.json", '{"data": [{"id": "2219", "caption": "A bell.", "title": "Bell"}]}',
        "SoundBible_flac/2219.flac",
    ), "2219", {"answers": ("A bell.",), "extra": {"title": "Bell"}}),
    ("seed_tts_eval_en", _files(
        "en/meta.lst", 'x-1|Said "so.|prompt-wavs/x.wav|Say this.\n', "en/prompt-wavs/x.wav",
    ), "x-1", {"text": 'Said "so.', "extra": {"target_text": "Say this.", "prompt": "x"}}),
)  # fmt: skip


def _find(name: str, root: Path) -> Listing:
    manifest = load_manifest(name)
    assert isinstance(manifest.source, LocalSource)
    request = IndexRequest(root, manifest.partition, root / ".store", options=manifest.source.options)
    return find_clips(manifest.source.layout, request)


@pytest.mark.parametrize(("name", "build", "clip", "wanted"), _CASES, ids=[case[0] for case in _CASES])
def test_rows_become_labels(tmp_path: Path, name: str, build: Build, clip: str, wanted: dict[str, Any]) -> None:
    """A clip carries what the publisher's own columns say of it, and is where they say."""
    build(Tree(tmp_path, {}))
    found = {each.id: each for each in _find(name, tmp_path).found}
    labels = found[clip].labels.model_dump()
    assert {field: labels[field] for field in wanted} == wanted
    assert found[clip].path.is_file()


def test_a_benchmark_of_all_sounds_says_of_which_each_clip_is(tmp_path: Path) -> None:
    """The publisher's task is the clip's category."""
    next(case for case in _CASES if case[0] == "mmau_test_mini")[1](Tree(tmp_path, {}))
    assert [clip.category for clip in _find("mmau_test_mini", tmp_path).found] == ["audio"]


def test_rows_of_no_recording_are_counted(tmp_path: Path) -> None:
    """A translation of a recording that the corpus has not is left out, and said."""
    _covost(Tree(tmp_path, {}))
    listing = _find("covost2_en", tmp_path)
    assert listing.notes == ["2 rows are not in validated.tsv and are left out"]
    assert (len(listing.found), listing.missing) == (1, [])


@pytest.mark.parametrize(
    ("name", "build", "said"),
    [
        ("mls_nl", _files("test/transcripts.txt", "odd\ttext\n"), r"transcripts.txt line 1: expected id to be written"),
        ("mls_nl", _files("test/transcripts.txt", "1_2_3\ttext\tmore\n"), r"line 1: expected 2 fields, got 3"),
        ("clotho", _files("clotho_captions_evaluation.csv", "file_name\na.wav\n"), r"line 2: expected the column caption_1"),
        ("audiocaps", _files("test.csv", "youtube_id,start_time,caption\n../../x,1,y\n"), "expected a file below"),
        ("mmau_test_mini", _files("mmau-test-mini.json", '[{"task": "smell"}]'), "item 1: expected task to be one of"),
        ("mmau_test_mini", _files("mmau-test-mini.json", '{"data": []}'), "expected the list of clips to be a list"),
        ("mmsu", _files("question/mmsu.jsonl", "[1]\n"), "mmsu.jsonl line 1: expected an object"),
        ("meld", _files("other.csv", ""), "expected test_sent_emo.csv"),
        ("meld", _files(
            "test_sent_emo.csv", "Utterance,Speaker,Emotion,Sentiment,Dialogue_ID,Utterance_ID\na,J,joy,x,1,1\nb,J,joy,x,1,1\n",
        ), "line 3: the clip was given before, with another text"),
        ("speech_hsk", _rows("data/hsk1-00000-of-00001.parquet", Answer="A"), "lacking: ans_choice"),
        ("tess", _files("x", "", "OAF_sad/OAF_back_sad.wav", "YAF_sad/OAF_back_sad.wav"), "was found before"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_named(tmp_path: Path, name: str, build: Build, said: str) -> None:
    """The error has the file and the line, and what was expected."""
    build(Tree(tmp_path, {}))
    with pytest.raises(LayoutError, match=said):
        _find(name, tmp_path)
