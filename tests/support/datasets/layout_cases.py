"""What indexing each tree of support.datasets.layout_trees must give."""

from __future__ import annotations

from pathlib import Path

from support.datasets.layout_trees import (
    build_aishell1,
    build_audio_snips,
    build_crema_d,
    build_esc50,
    build_fluent,
    build_fsd50k,
    build_gtzan_genre,
    build_gtzan_music_speech,
    build_gunshots,
    build_iemocap,
    build_libri2mix,
    build_libricount,
    build_librispeech,
    build_m4singer,
    build_nsynth,
    build_opensinger,
    build_quesst,
    build_speech_commands,
    build_vocal_imitations,
    build_vocalset,
    build_voxceleb1,
    build_voxlingua,
    voxlingua_ids,
)
from support.datasets.layouts import Case
from support.datasets.svq import build_v1 as build_svq

from codec_superb.plugins import import_file


def _own_cases() -> tuple[Case, ...]:
    """Return the cases that are modules of their own: a layout that is added needs no line here."""
    return tuple(import_file(path).CASE for path in sorted(OWN.glob("*.py")))


OWN = Path(__file__).parents[2] / "data_manifests" / "indexing" / "layouts"

CASES = (
    Case(
        "librispeech",
        build_librispeech,
        clips=tuple(
            f"{folder}/{folder.split('/', 1)[1].replace('/', '-')}-{number}"
            for folder in ("test-clean/1089/134686", "test-other/367/130732")
            for number in ("0000", "0001")
        ),
        labels=(
            "test-clean/1089/134686/1089-134686-0000",
            {"text": "HE HOPED THERE WOULD BE STEW", "speaker": "1089", "language": "en"},
        ),
        missing=("test-clean/1089/134686/1089-134686-0002",),
        unlabelled=("test-other/367/130732/367-130732-0001",),
    ),
    Case(
        "librispeech_dev_clean",
        build_librispeech,
        clips=("dev-clean/84/121123/84-121123-0000", "dev-clean/84/121123/84-121123-0001"),
        labels=("dev-clean/84/121123/84-121123-0000", {"speaker": "84", "extra": {"split": "dev-clean"}}),
        unlabelled=("dev-clean/84/121123/84-121123-0001",),
    ),
    Case(
        "librispeech_test_clean",
        build_librispeech,
        clips=("test-clean/1089/134686/1089-134686-0000", "test-clean/1089/134686/1089-134686-0001"),
        labels=("test-clean/1089/134686/1089-134686-0001", {"text": "HE HOPED THERE WOULD BE STEW"}),
        missing=("test-clean/1089/134686/1089-134686-0002",),
    ),
    Case(
        "aishell1",
        build_aishell1,
        clips=("test/S0764/BAC009S0764W0121", "test/S0764/BAC009S0764W0122", "test/S0916/BAC009S0916W0121"),
        labels=(
            "test/S0916/BAC009S0916W0121",
            {"text": "甚至 出现 交易", "speaker": "S0916", "language": "zh", "extra": {"split": "test"}},
        ),
        missing=("test/S0764/BAC009S0764W0124",),
        extra=("test/S0764/BAC009S0765W0123.wav",),
        unlabelled=("test/S0764/BAC009S0764W0122",),
    ),
    Case(
        "voxceleb1",
        build_voxceleb1,
        clips=("id10270/5r0dWxy17C8/00001", "id10309/_z_BR0ERa9g/00002"),
        labels=("id10309/_z_BR0ERa9g/00002", {"speaker": "id10309", "extra": {"video": "_z_BR0ERa9g"}}),
        missing=("id10270/5r0dWxy17C8/00003",),
        extra=("id10270/notes.wav",),
        notes=("veri_test2.txt: 2 trials (37611 published)",),
    ),
    Case(
        "speech_commands_v1",
        build_speech_commands,
        clips=("bed/00176480_nohash_0", "zero/0a7c2a8d_nohash_1", "yes/0a7c2a8d_nohash_0"),
        labels=("zero/0a7c2a8d_nohash_1", {"text": "zero", "speaker": "0a7c2a8d", "extra": {"split": "test"}}),
        missing=("up/1c6e5447_nohash_0",),
        extra=("backward/0165e0e8_nohash_0.wav", "bed/odd name.wav"),
    ),
    Case(
        "quesst2014",
        build_quesst,
        clips=("Audio/quesst14_00001", "dev_queries/quesst14_dev_0001", "eval_queries/quesst14_eval_0001"),
        labels=("dev_queries/quesst14_dev_0001", {"language": "en", "extra": {"published_language": "nnenglish"}}),
        missing=("Audio/quesst14_00003",),
        extra=("Audio/quesst14_00002.wav",),
    ),
    Case(
        "voxlingua107_top10",
        build_voxlingua,
        clips=voxlingua_ids(),
        labels=("iw/iwclip__U__S0---0000", {"language": "he", "extra": {"published_language": "iw"}}),
        notes=("10 of 12 languages", "place 10 is a tie between es, pl"),
    ),
    Case(
        "audio_snips",
        build_audio_snips,
        clips=("test/Brian-snips-test-0", "test/Brian-snips-test-2", "valid/Aditi-snips-valid-0"),
        labels=(
            "test/Brian-snips-test-0",
            {"text": "play jazz", "speaker": "Brian", "extra": {"intent": "PlayMusic", "slots": "O B-genre"}},
        ),
        missing=("test/Brian-snips-test-1",),
        unlabelled=("test/Brian-snips-test-2",),
    ),
    Case(
        "fluent_speech_commands",
        build_fluent,
        clips=("4BrX8aDqK2cLZRYl/0",),
        labels=(
            "4BrX8aDqK2cLZRYl/0",
            {
                "text": "Turn on, please",
                "speaker": "4BrX8aDqK2cLZRYl",
                "extra": {"action": "activate", "object": "lights", "location": "none"},
            },
        ),
        missing=("4BrX8aDqK2cLZRYl/1",),
    ),
    Case(
        "iemocap",
        build_iemocap,
        clips=tuple(f"Ses01F_impro01/Ses01F_impro01_{turn}" for turn in ("F000", "M000", "M001")),
        labels=(
            "Ses01F_impro01/Ses01F_impro01_F000",
            {
                "text": "Excuse me.",
                "speaker": "Ses01F",
                "emotion": "neutral",
                "extra": {"emotion_code": "neu", "valence": "2.5000", "dominance": "3.0000", "act": "improvised"},
            },
        ),
        missing=("Ses01F_impro01/Ses01F_impro01_F001",),
        unlabelled=("Ses01F_impro01/Ses01F_impro01_M001",),
        notes=("Session5/sentences/wav is not in",),
    ),
    Case(
        "crema_d",
        build_crema_d,
        clips=("1001_DFA_ANG_XX", "1002_IEO_HAP_HI"),
        labels=(
            "1002_IEO_HAP_HI",
            {"text": "It's eleven o'clock", "speaker": "1002", "emotion": "happiness", "extra": {"level": "high"}},
        ),
        missing=("1003_TIE_SAD_LO",),
        extra=("readme.wav",),
    ),
    Case(
        "libri2mix",
        build_libri2mix,
        clips=("4077-13754-0001_5142-33396-0065",),
        labels=(
            "4077-13754-0001_5142-33396-0065",
            {"speaker": "4077+5142", "extra": {"mode": "max", "source_2": "5142-33396-0065"}},
        ),
        missing=("121-121726-0003_61-70968-0000",),
        extra=("stray.wav",),
        notes=("the mode max was taken",),
    ),
    Case(
        "libricount",
        build_libricount,
        clips=("0_1e2f", "2_a1b2", "10_c3d4"),
        labels=("2_a1b2", {"speaker": "1221+3570", "extra": {"speakers": "2"}}),
        missing=("5_gone",),
        extra=("11_no.wav",),
        unlabelled=("10_c3d4",),
    ),
    Case(
        "esc50",
        build_esc50,
        clips=("1-100032-A-0",),
        labels=("1-100032-A-0", {"events": ("dog",), "extra": {"fold": "1", "target": "0"}}),
        missing=("5-9032-A-0",),
        extra=("stray.wav",),
    ),
    Case(
        "fsd50k",
        build_fsd50k,
        clips=("dev/16399", "eval/37199"),
        labels=("dev/16399", {"events": ("Bark", "Dog"), "extra": {"split": "val"}}),
        missing=("dev/16401",),
        extra=("dev/99999.wav",),
        notes=("FSD50K.metadata of eval is not there",),
    ),
    Case(
        "gunshot_triangulation",
        build_gunshots,
        clips=tuple(
            f"mic{mic}_shot{shot}_fid{1 if shot == 0 else (shot - 1) // 3 + 1}"
            for mic in range(1, 5)
            for shot in range(22)
        ),
        labels=(
            "mic2_shot21_fid7",
            {"events": ("firearm 7",), "extra": {"microphone": "2", "shot": "21", "firearm": "7"}},
        ),
    ),
    Case(
        "vocal_imitations",
        build_vocal_imitations,
        clips=("001 - car alarm-1",),
        labels=(
            "001 - car alarm-1",
            {"events": ("Car alarm",), "speaker": "p7", "extra": {"reference": "001Car_alarm.wav"}},
        ),
        missing=("001 - car alarm-2",),
        extra=("odd.wav",),
    ),
    Case(
        "opensinger",
        build_opensinger,
        clips=tuple(
            f"{song}/{song.split('/')[1]}_{number}"
            for song in ("ManRaw/25_一路向北", "WomanRaw/47_左边")
            for number in (0, 1)
        ),
        labels=(
            "ManRaw/25_一路向北/25_一路向北_0",
            {"text": "你说我有点难追", "speaker": "ManRaw_25", "language": "zh", "extra": {"song": "一路向北"}},
        ),
        missing=("ManRaw/25_一路向北/25_一路向北_2", "WomanRaw/47_左边/47_左边_2"),
        unlabelled=("ManRaw/25_一路向北/25_一路向北_1", "WomanRaw/47_左边/47_左边_1"),
        notes=("no folder WomanRaw/45_SONG",),
    ),
    Case(
        "m4singer",
        build_m4singer,
        clips=tuple(f"{song}/{number}" for song in ("Alto-1#暖暖", "Tenor-2#十年") for number in ("0000", "0001")),
        labels=(
            "Alto-1#暖暖/0000",
            {"text": "都可以随便的", "speaker": "Alto-1", "language": "zh", "extra": {"song": "暖暖"}},
        ),
        missing=("Alto-1#暖暖/0002", "Tenor-2#十年/0002"),
        unlabelled=("Alto-1#暖暖/0001", "Tenor-2#十年/0001"),
    ),
    Case(
        "vocalset",
        build_vocalset,
        clips=(
            "female2/arpeggios/belt/f2_arpeggios_belt_c_a",
            "male10/arpeggios/belt/m10_arpeggios_belt_c_a",
        ),
        labels=(
            "male10/arpeggios/belt/m10_arpeggios_belt_c_a",
            {"speaker": "male10", "events": ("belt",), "extra": {"context": "arpeggios"}},
        ),
        extra=("female2/loose.wav",),
        notes=("the singer male3 is not in",),
    ),
    Case(
        "nsynth",
        build_nsynth,
        clips=("bass_synthetic_068-049-025",),
        labels=(
            "bass_synthetic_068-049-025",
            {"events": ("bass",), "extra": {"pitch": "49", "velocity": "25", "qualities": "dark nonlinear_env"}},
        ),
        missing=("bass_synthetic_068-050-025",),
        extra=("stray.wav",),
    ),
    Case(
        "gtzan_genre",
        build_gtzan_genre,
        clips=("blues/blues.00000", "rock/rock.00099", "jazz/jazz.00054"),
        labels=("blues/blues.00000", {"events": ("blues",)}),
        missing=tuple(f"blues/blues.{number:05d}" for number in range(1, 11)),
        extra=("rock/rock.00100.au",),
    ),
    Case(
        "gtzan_music_speech",
        build_gtzan_music_speech,
        clips=("music_wav/bagpipe", "speech_wav/allison"),
        labels=("speech_wav/allison", {"events": ("speech",)}),
    ),
    Case(
        "svq_en_us",
        lambda tree: build_svq(tree.root),
        clips=("utt_87", "utt_88", "utt_89", "utt_90"),
        labels=("utt_89", {"text": "How old is Rome?", "language": "en-US", "extra": {"environment": "media_noise"}}),
        notes=("query_reranking: 4 queries (3873 published)",),
    ),
    *_own_cases(),
)
