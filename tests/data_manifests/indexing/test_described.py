"""Datasets whose manifests describe their tables, each in a small tree with the publisher's names and columns."""

# ruff: noqa: E501 -- tables of publishers, a line each

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import soundfile
from support.datasets.layouts import Tree
from support.datasets.package_files import noise, wav_bytes
from support.datasets.parquet_tables import write_table
from support.objects.fixtures import s3, s3_of_process
from support.objects.s3 import S3

from codec_superb.data_manifests.audio.recording import Recording
from codec_superb.data_manifests.audio.samples import samples_sha256
from codec_superb.data_manifests.audio.webdataset import ShardReport
from codec_superb.data_manifests.catalogue import load_manifest
from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.files import file_sha256
from codec_superb.data_manifests.indexers import IndexRequest, Listing, find_clips, parts_of
from codec_superb.data_manifests.indexers.listing import FoundClip
from codec_superb.data_manifests.manifest import LocalSource, Partition

__all__ = ["s3", "s3_of_process"]
Build = Callable[[Tree], None]


def _files(table: str, content: str, *audio: str) -> Build:
    def build(tree: Tree) -> None:
        tree.text(table, content)
        for path in audio:
            (tree.root / path).parent.mkdir(parents=True, exist_ok=True)
            (tree.root / path).write_bytes(b"")

    return build


def _rows(path: str, column: str = "audio", **cells: Any) -> Build:
    sound = {"bytes": wav_bytes(noise(0.02, 16_000), 16_000), "path": "x.wav"}
    return lambda tree: (write_table(tree.root / path, [{column: sound, **cells}]), None)[1]


def _covost(tree: Tree) -> None:
    tree.text("validated.tsv", 'client_id\tpath\tsentence\nann\ta.mp3\tHe said "yes.\nbob\tb.mp3\tNo.\n')
    for code, text in (("de", "Er sagte Ja."), ("zh-CN", "他说是。")):
        rows = f"a.mp3\t{text}\ttest\nb.mp3\tx\ttrain\nc.mp3\ty\ttest\n"
        tree.text(f"covost_v2.en_{code}.tsv", "path\ttranslation\tsplit\n" + rows)
    for code in ("ar", "ca", "cy", "et", "fa", "id", "ja", "lv", "mn", "sl", "sv-SE", "ta", "tr"):
        tree.text(f"covost_v2.en_{code}.tsv", "path\ttranslation\tsplit\n")
    _files("x", "", "clips/a.mp3")(tree)


def _recording(path: str, table: str, content: str, **options: Any) -> Build:
    """Return what builds a table beside a recording of two seconds at 16 kHz."""

    def build(tree: Tree) -> None:
        tree.text(table, content)
        (tree.root / path).parent.mkdir(parents=True, exist_ok=True)
        (tree.root / path).write_bytes(wav_bytes(noise(2.0), **options))

    return build


_STM = """;; comment
A_2009 1 A_2009 0.25 1.5 <o,f0,male> so  we <unk>
A_2009 1 inter_segment_gap 1.5 1.75 <o,,unknown> ignore_time_segment_in_scoring
A_2009 1 A_2009 1.75 2.05 <o,f0,male> the end
A_2009 1 A_2009 1.8 2.2 <o,f0,male> past the end
"""


def _tedlium(folder: str) -> Build:
    return _recording(f"{folder}/sph/A_2009.sph", f"{folder}/stm/A_2009.stm", _STM, format="NIST", subtype="PCM_16")


def _icbhi(tree: Tree) -> None:
    name = "ICBHI_final_database/101_1b1_Al_sc_Meditron"
    _recording(f"{name}.wav", f"{name}.txt", "0.036\t0.579\t1\t1\n0.579\t2.0\t0\t0\n")(tree)
    tree.text("ICBHI_final_database/102_1b1_Ar_sc_Meditron.txt", "0.1\t0.2\t0\t1\n")
    tree.text("ICBHI_challenge_train_test.txt", "101_1b1_Al_sc_Meditron\ttest\n102_1b1_Ar_sc_Meditron\ttrain\n")


_VOX2 = "VoxCeleb2 ID ,VGGFace2 ID ,Gender ,Set \nid00012 ,n000001 ,f ,dev \nid00017 ,n000012 ,m ,test \n"


def _cv3(folder: str) -> Build:
    def build(tree: Tree) -> None:
        _files(
            f"{folder}/prompt_wav.scp",
            f"uttid_1 {folder}//waveform/prompt_audio_1.wav\n",
            f"{folder}/waveform/prompt_audio_1.wav",
        )(tree)
        tree.text(f"{folder}/prompt_text", "uttid_1 so it is\n")
        tree.text(f"{folder}/text", "uttid_1 say this\n")

    return build


def _minimax(tree: Tree) -> None:
    voice = "speaker/cantonese/cantonese_female/common_voice_yue_37562201.mp3"
    _files("text/cantonese.txt", "cantonese_female|one\ncantonese_female|two\n", voice)(tree)
    tree.text("speaker/prompt_text.txt", "common_voice_yue_37562201.mp3|so it is\n")


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
    ("tedlium_1_test", _tedlium("TEDLIUM_release1/test"), "A_2009/0.25-1.5", {
        "text": "so  we <unk>", "language": "en", "speaker": "A_2009", "extra": {"condition": "<o,f0,male>"},
    }),
    ("tedlium_2_dev", _tedlium("dev"), "A_2009/1.75-2.05", {"text": "the end"}),
    ("tedlium_3_test", _tedlium("legacy/test"), "A_2009/1.75-2.05", {"text": "the end"}),
    ("icbhi_2017", _icbhi, "101_1b1_Al_sc_Meditron/0.036-0.579", {
        "events": ("both",), "extra": {"crackles": "present", "wheezes": "present", "patient": "101", "device": "Meditron", "place": "Al"},
    }),
    ("voxceleb1_gender", _files(
        "vox1_meta.csv", "VoxCeleb1 ID\tVGGFace1 ID\tGender\tNationality\tSet\nid10270\tEartha_Kitt\tf\tUSA\ttest\n",
        "wav/id10270/5r0dWxy17C8/00001.wav",
    ), "id10270/5r0dWxy17C8/00001", {"speaker": "id10270", "extra": {"gender": "female", "video": "5r0dWxy17C8"}}),
    ("voxceleb2", _files("vox2_meta.csv", _VOX2, "aac/id00017/01dfn2spqyE/00001.m4a"), "id00017/01dfn2spqyE/00001", {
        "speaker": "id00017", "extra": {"gender": "male", "video": "01dfn2spqyE"},
    }),
    ("peoples_speech", _rows(
        "test/test-00000-of-00001.parquet", id="07282016_SLASH_forum_DOT_mp3_00012.flac", duration_ms=20, text="so we",
    ), "07282016_SLASH_forum_DOT_mp3_00012", {"text": "so we", "extra": {"recording": "07282016_SLASH_forum_DOT_mp3"}}),
    ("voicebench_ifeval", _rows(
        "ifeval/test-00000-of-00001.parquet", prompt="Write.", instruction_id_list=["a:b"], kwargs=[{"n": 2}],
    ), "test/1", {"text": "Write.", "extra": {"instruction_id_list": '["a:b"]', "kwargs": '[{"n": 2}]'}}),
    ("voicebench_mmsu", _rows(
        "mmsu/law-00000-of-00001.parquet", prompt="Which?", reference="D",
    ), "law/1", {"choices": ("A", "B", "C", "D"), "answers": ("D",), "extra": {"subject": "law"}}),
    ("instruct_tts_eval_en", _rows(
        "data/en-00000-of-00001.parquet", "reference_audio", id="en_0", text="Go!", APS="Pitch: high", DSD="Angry.", RP="A king.",
    ), "en_0", {"text": "Go!", "language": "en", "extra": {"aps": "Pitch: high", "dsd": "Angry.", "rp": "A king."}}),
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
    ("coughvid", _files(
        "metadata_compiled.csv", ",uuid,cough_detected,status\n0,4e47612c,0.9,COVID-19\n1,5a,0.1,\n", "4e47612c.ogg",
    ), "4e47612c", {"events": ("COVID-19",), "extra": {"cough_detected": "0.9"}}),
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
    ("wavcaps_audioset_sl", _files(
        "json_files/AudioSet_SL/as_final.json", '{"data": [{"id": "Yb0RFKhbpFJA.wav", "caption": "Wind.", "audio": "wav_path"}]}',
        "AudioSet_SL_flac/Yb0RFKhbpFJA.flac",
    ), "Yb0RFKhbpFJA", {"answers": ("Wind.",)}),
    ("wavcaps_bbc", _files(
        "json_files/BBC_Sound_Effects/bbc_final.json", '{"data": [{"id": "NHU05", "caption": "A fox."}]}', "BBC_Sound_Effects_flac/NHU05.flac",
    ), "NHU05", {"answers": ("A fox.",), "extra": {}}),
    ("wavcaps_freesound", _files(
        "json_files/FreeSound/fsd_final.json", '{"data": [{"id": "17", "caption": "Rain."}]}', "FreeSound_flac/17.flac",
    ), "17", {"answers": ("Rain.",)}),
    ("cv3_eval_zero_shot", _cv3("data/zero_shot/hard_zh"), "hard_zh/uttid_1", {
        "text": "so it is", "language": "zh",
        "extra": {"set": "hard_zh", "prompt": "data/zero_shot/hard_zh/waveform/prompt_audio_1", "target_text": "say this"},
    }),
    ("cv3_eval_cross_lingual", _cv3("data/cross_lingual_zeroshot/to_en"), "to_en/uttid_1", {"text": "so it is", "language": None}),
    ("cv3_eval_emotion", _cv3("data/emotion_zeroshot/en/sad"), "en/sad/uttid_1", {"emotion": "sad", "language": "en"}),
    ("minimax_tts", _minimax, "cantonese/2", {
        "text": "so it is", "language": "yue",
        "extra": {"gender": "female", "voice": "cantonese_female", "target_text": "two"},
    }),
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


@pytest.mark.network
@pytest.mark.sample(5)
@pytest.mark.parametrize(("name", "build"), [case[:2] for case in _CASES], ids=[case[0] for case in _CASES])
def test_a_store_gives_what_a_folder_gives(tmp_path: Path, s3: S3, name: str, build: Build) -> None:
    """Clips with labels and hashes, what is missing, what is extra and what is said are the same from both."""
    root, source = tmp_path / "root", load_manifest(name).source
    assert isinstance(source, LocalSource)
    build(Tree(root, {}))
    s3.put_folder(root, "a/set")
    s3.put("a/set/.hidden/x.wav", b"")
    request = IndexRequest(tmp_path, Partition(text="all"), tmp_path, source.options, url=f"{s3.url}/a/set")
    if "start" in source.options:
        with pytest.raises(LayoutError, match="cut out of recordings on this machine: fetch the dataset"):
            next(parts_of(source.layout, request))
        return
    here, report, notes, extra, found = _find(name, root), ShardReport(), list[str](), list[str](), list[FoundClip]()
    for part in parts_of(source.layout, request):
        found += part.read(report)
        notes += part.notes
        extra += part.extra
    top, digest = (root / ".store", samples_sha256) if here.stored else (root, file_sha256)
    assert [
        (each.id, each.path, each.labels, each.category, each.kept and each.kept.measured.sha256) for each in found
    ] == [
        (each.id, each.path.relative_to(top), each.labels, each.category, digest(each.path))
        for each in sorted(here.found, key=lambda clip: clip.id)
    ]
    assert sorted(report.places()) == sorted(here.missing)
    assert sorted(extra) == sorted(here.extra)
    assert notes == [note.replace(str(root), f"{s3.url}/a/set") for note in here.notes]


def test_a_benchmark_of_all_sounds_says_of_which_each_clip_is(tmp_path: Path) -> None:
    """The publisher's task is the clip's category."""
    next(case for case in _CASES if case[0] == "mmau_test_mini")[1](Tree(tmp_path, {}))
    assert [clip.category for clip in _find("mmau_test_mini", tmp_path).found] == ["audio"]


def test_clips_are_cut_to_the_sample(tmp_path: Path) -> None:
    """Times become samples, an end a little late is the recording's, and lines that are not scored are left out."""
    _tedlium("test")(Tree(tmp_path, {}))
    listing = _find("tedlium_2_test", tmp_path)
    whole, rate = soundfile.read(tmp_path / "test/sph/A_2009.sph", dtype="int32")
    found = {clip.id: soundfile.read(clip.path, dtype="int32") for clip in listing.found}
    spans = {"A_2009/0.25-1.5": (4_000, 24_000), "A_2009/1.75-2.05": (28_000, 32_000)}
    assert {name: (sound.tolist(), rate) for name, (sound, rate) in found.items()} == {
        name: (whole[first:last].tolist(), rate) for name, (first, last) in spans.items()
    }
    assert listing.stored
    assert listing.missing == ["A_2009/1.8-2.2"]
    assert "expected 1.8 s to 2.2 s, got a recording of 2.000 s" in listing.notes[0]


def test_a_row_is_kept_by_what_a_joined_table_says_of_it(tmp_path: Path) -> None:
    """Recordings of the other set are left out without a word, one that the table lacks is said."""
    tree = Tree(tmp_path, {})
    _icbhi(tree)
    assert [clip.labels.events for clip in _find("icbhi_2017", tmp_path).found] == [("both",), ("normal",)]
    _files("vox2_meta.csv", _VOX2, *(f"aac/id000{n}/x/00001.m4a" for n in (12, 17, 18)))(tree)
    listing = _find("voxceleb2", tmp_path)
    assert [clip.id for clip in listing.found] == ["id00017/x/00001"]
    assert listing.extra == listing.missing == []
    assert listing.notes == ["1 row is not in vox2_meta.csv and left out"]


def test_what_was_cut_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second index decodes nothing; a table with other times makes other clips."""
    _tedlium("test")(Tree(tmp_path, {}))
    _find("tedlium_2_test", tmp_path)
    table = tmp_path / "test/stm/A_2009.stm"
    table.write_text("\n".join(line for line in _STM.splitlines() if "past" not in line))
    monkeypatch.setattr(Recording, "between", lambda *_: pytest.fail("was decoded again"))
    assert len(_find("tedlium_2_test", tmp_path).found) == 2


def test_rows_of_no_recording_are_counted(tmp_path: Path) -> None:
    """A translation of a recording that the corpus has not is left out, and said."""
    _covost(Tree(tmp_path, {}))
    listing = _find("covost2_en", tmp_path)
    assert listing.notes == ["2 rows are not in validated.tsv and left out"]
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
        ("tedlium_2_test", _files("test/stm/a.stm", "a 1 s 2.0 1.0 <o> x\n"), "a.stm line 1: expected seconds from 0 on"),
        ("tedlium_2_test", _files("test/stm/a.stm", "a 1 s x 1.0 <o> x\n"), "the end after the start, got x to 1.0"),
        ("tedlium_2_test", _files("test/stm/a.stm", "a 1 s 1.0\n"), "a.stm line 1: expected 7 fields, got 4"),
        ("speech_hsk", _rows("data/hsk1-00000-of-00001.parquet", Answer="A"), "lacking: ans_choice"),
        ("tess", _files("x", "", "OAF_sad/OAF_back_sad.wav", "YAF_sad/OAF_back_sad.wav"), "was found before"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_named(tmp_path: Path, name: str, build: Build, said: str) -> None:
    """The error has the file and the line, and what was expected."""
    build(Tree(tmp_path, {}))
    with pytest.raises(LayoutError, match=said):
        _find(name, tmp_path)
