"""One small tree for each published layout, with clips inside and outside the partition, missing ones and strays."""

from __future__ import annotations

import struct
from pathlib import Path

from support.datasets.layouts import Tree


def build_librispeech(tree: Tree) -> None:
    """Lay out LibriSpeech."""
    for split, clip in (("test-clean", "1089-134686"), ("test-other", "367-130732"), ("dev-clean", "84-121123")):
        folder = f"LibriSpeech/{split}/{clip.replace('-', '/')}"
        tree.audio(f"{folder}/{clip}-0000.flac", f"{folder}/{clip}-0001.flac")
        lines = [f"{clip}-{number:04d} HE HOPED THERE WOULD BE STEW" for number in (0, 1, 2)]
        tree.text(f"{folder}/{clip}.trans.txt", "\n".join(lines if split == "test-clean" else lines[:1]) + "\n")
    tree.text("LibriSpeech/SPEAKERS.TXT", "; speakers\n")


def build_aishell1(tree: Tree) -> None:
    """Lay out AISHELL-1."""
    wav = "data_aishell/wav"
    for split, speaker in (("test", "S0764"), ("test", "S0916"), ("train", "S0002")):
        tree.audio(f"{wav}/{split}/{speaker}/BAC009{speaker}W0121.wav")
    tree.audio(f"{wav}/test/S0764/BAC009S0764W0122.wav", f"{wav}/test/S0764/BAC009S0765W0123.wav")
    lines = [
        f"BAC009{name} 甚至 出现  交易"
        for name in ("S0002W0121", "S0764W0121", "S0764W0124", "S0916W0121", "S0901W0121")
    ]
    tree.text("data_aishell/transcript/aishell_transcript_v0.8.txt", "\n".join(lines) + "\n")


def build_voxceleb1(tree: Tree) -> None:
    """Lay out VoxCeleb1."""
    tree.audio("wav/id10270/5r0dWxy17C8/00001.wav", "wav/id10309/_z_BR0ERa9g/00002.wav")
    tree.audio("wav/id10001/Y8hIVOBuels/00001.wav", "wav/id10270/notes.wav")
    lines = ["1 id10270/5r0dWxy17C8/00001.wav id10270/5r0dWxy17C8/00003.wav"]
    lines += ["0 id10270/5r0dWxy17C8/00001.wav id10309/_z_BR0ERa9g/00002.wav"]
    tree.text("veri_test2.txt", "\n".join(lines) + "\n")


def build_speech_commands(tree: Tree) -> None:
    """Lay out Speech Commands."""
    tree.audio("bed/00176480_nohash_0.wav", "zero/0a7c2a8d_nohash_1.wav", "yes/0a7c2a8d_nohash_0.wav")
    tree.audio("_background_noise_/doing_the_dishes.wav", "bed/odd name.wav", "backward/0165e0e8_nohash_0.wav")
    tree.text("testing_list.txt", "zero/0a7c2a8d_nohash_1.wav\n")
    tree.text("validation_list.txt", "up/1c6e5447_nohash_0.wav\n")


def build_quesst(tree: Tree) -> None:
    """Lay out QUESST 2014."""
    base = "quesst14Database"
    tree.audio(f"{base}/Audio/quesst14_00001.wav", f"{base}/Audio/quesst14_00002.wav")
    tree.audio(f"{base}/dev_queries/quesst14_dev_0001.wav", f"{base}/eval_queries/quesst14_eval_0001.wav")
    listed = {
        "utterances": [f"{base}/Audio/quesst14_00001.wav albanian", f"{base}/Audio/quesst14_00003.wav czech"],
        "dev": [f"{base}/dev_queries/quesst14_dev_0001.wav nnenglish"],
        "eval": [f"{base}/eval_queries/quesst14_eval_0001.wav romanian"],
    }
    for key, lines in listed.items():
        tree.text(f"{base}/scoring/language_key_{key}.lst", "\n".join(lines) + "\n")


def build_voxlingua(tree: Tree) -> None:
    """Lay out VoxLingua107."""
    codes = ("ar", "de", "en", "fr", "it", "iw", "ja", "ru", "zh")
    for code in codes:
        tree.audio(*(f"dev/{code}/{code}clip__U__S{number}---0000.wav" for number in range(3)))
    # Two languages of two clips share the tenth place, and one has a single clip.
    for code in ("pl", "es"):
        tree.audio(*(f"dev/{code}/{code}clip__U__S{number}---0000.wav" for number in range(2)))
    tree.audio("dev/war/warclip__U__S0---0000.wav")


def voxlingua_ids() -> tuple[str, ...]:
    """Return the ids of the ten languages that the rule takes."""
    counts = dict.fromkeys(("ar", "de", "en", "fr", "it", "iw", "ja", "ru", "zh"), 3) | {"es": 2}
    return tuple(f"{code}/{code}clip__U__S{number}---0000" for code in counts for number in range(counts[code]))


def build_audio_snips(tree: Tree) -> None:
    """Lay out Audio SNIPS."""
    tree.audio("test/Brian-snips-test-0.wav", "test/Brian-snips-test-2.wav", "valid/Aditi-snips-valid-0.wav")
    tree.audio("train/Ivy-snips-train-0.wav")
    words = "BOS play jazz EOS\tO O B-genre PlayMusic"
    names = ("Brian-snips-test-0", "Brian-snips-test-1", "Emma-snips-test-0", "Aditi-snips-valid-0")
    tree.text("all.iob.snips.txt", "".join(f"{name} {words}\n" for name in (*names, "Ivy-snips-train-0")))


def build_fluent(tree: Tree) -> None:
    """Lay out Fluent Speech Commands."""
    base = "fluent_speech_commands_dataset"
    header = ("", "path", "speakerId", "transcription", "action", "object", "location")
    rows = [(n, f"wavs/speakers/4BrX8aDqK2cLZRYl/{n}.wav", "4BrX8aDqK2cLZRYl", "Turn on, please") for n in range(2)]
    tree.table(f"{base}/data/test_data.csv", header, *((*row, "activate", "lights", "none") for row in rows))
    tree.audio(f"{base}/wavs/speakers/4BrX8aDqK2cLZRYl/0.wav", f"{base}/wavs/speakers/2BqVo8kVB2Skwgyb/7.wav")


def build_iemocap(tree: Tree) -> None:
    """Lay out IEMOCAP."""
    base, dialogue = "IEMOCAP_full_release/Session1", "Ses01F_impro01"
    wav = f"{base}/sentences/wav/{dialogue}"
    tree.audio(*(f"{wav}/{dialogue}_{turn}.wav" for turn in ("F000", "M000", "M001")))
    tree.audio(f"{base}/dialog/wav/{dialogue}.wav")
    emotions = ["% [START_TIME - END_TIME] TURN_NAME EMOTION [V, A, D]", ""]
    for turn, emotion in (("F000", "neu"), ("M000", "xxx"), ("F001", "ang")):
        emotions += [f"[6.2901 - 8.2357]\t{dialogue}_{turn}\t{emotion}\t[2.5000, 2.5000, 3.0000]"]
        emotions += ["C-E2:\tNeutral;\t()", "A-E3:\tval 3; act 2; dom  2;\t()", ""]
    tree.text(f"{base}/dialog/EmoEvaluation/{dialogue}.txt", "\n".join(emotions))
    words = [f"{dialogue}_F000 [006.2901-008.2357]: Excuse me.", "M: [LAUGHTER]"]
    tree.text(f"{base}/dialog/transcriptions/{dialogue}.txt", "\n".join(words))


def build_crema_d(tree: Tree) -> None:
    """Lay out CREMA-D."""
    tree.audio("AudioWAV/1001_DFA_ANG_XX.wav", "AudioWAV/1002_IEO_HAP_HI.wav", "AudioWAV/readme.wav")
    names = ((1, "1001_DFA_ANG_XX"), (2, "1002_IEO_HAP_HI"), (3, "1003_TIE_SAD_LO"))
    tree.table("SentenceFilenames.csv", ("Stimulus_Number", "Filename"), *names)


def build_libri2mix(tree: Tree) -> None:
    """Lay out Libri2Mix."""
    mixtures = ("4077-13754-0001_5142-33396-0065", "121-121726-0003_61-70968-0000")
    header = ("mixture_ID", "mixture_path", "source_1_path", "source_2_path", "noise_path", "length")
    for mode in ("max", "min"):
        base = f"Libri2Mix/wav16k/{mode}"
        rows = [(name, f"/data/{name}.wav", "/data/1.wav", "/data/2.wav", "/data/n.wav", 55_440) for name in mixtures]
        tree.table(f"{base}/metadata/mixture_test_mix_both.csv", header, *rows)
        tree.audio(f"{base}/test/mix_both/{mixtures[0]}.wav", f"{base}/test/mix_both/stray.wav")
        tree.audio(f"{base}/test/mix_clean/{mixtures[0]}.wav", f"{base}/train-100/mix_both/{mixtures[1]}.wav")


def build_libricount(tree: Tree) -> None:
    """Lay out LibriCount."""
    tree.audio("test/0_1e2f.wav", "test/2_a1b2.wav", "test/10_c3d4.wav", "test/11_no.wav")
    people = [{"sex": "F", "activity": [[0, 51_076]], "speaker_id": number} for number in (1221, 3570)]
    tree.data("test/0_1e2f.json", [])
    tree.data("test/2_a1b2.json", people)
    tree.data("test/5_gone.json", people)


def build_esc50(tree: Tree) -> None:
    """Lay out ESC-50."""
    header = ("filename", "fold", "target", "category", "esc10", "src_file", "take")
    rows = [("1-100032-A-0.wav", 1, 0, "dog", "True", 100032, "A"), ("5-9032-A-0.wav", 5, 0, "dog", "True", 9032, "A")]
    tree.table("ESC-50-master/meta/esc50.csv", header, *rows)
    tree.audio("ESC-50-master/audio/1-100032-A-0.wav", "ESC-50-master/audio/stray.wav")


def build_fsd50k(tree: Tree) -> None:
    """Lay out FSD50K."""
    rows = [(64760, "Electric_guitar,Guitar,Music", "/m/02sgy,/m/0342h,/m/04rlf", "train")]
    rows += [(16399, "Bark,Dog", "/m/05tny_,/m/0bt9lr", "val"), (16401, "Rain", "/m/06mb1", "val")]
    tree.table("FSD50K.ground_truth/dev.csv", ("fname", "labels", "mids", "split"), *rows)
    tree.table("FSD50K.ground_truth/eval.csv", ("fname", "labels", "mids"), (37199, "Rain,Water", "/m/06mb1,/m/0838f"))
    tree.audio(*(f"FSD50K.dev_audio/{name}.wav" for name in (64760, 16399, 99999)), "FSD50K.eval_audio/37199.wav")
    info = {"title": "Loud dog", "license": "http://creativecommons.org/licenses/by/3.0/", "uploader": "anna"}
    tree.data("FSD50K.metadata/dev_clips_info_FSD50K.json", {"16399": info})


def build_gunshots(tree: Tree) -> None:
    """Lay out the gunshot recordings."""
    from codec_superb.data_manifests.indexers.gunshot_triangulation import OFFSETS, SHOTS

    for number, (name, offset) in enumerate(OFFSETS.items(), start=1):
        shots = [offset - 48_000 + 10_000 + 26_000 * shot for shot in range(SHOTS)]
        write_clicks(tree.root / name, shots, 0.9 if number == 1 else 0.1 * number, shots[-1] + 80_000)


def write_clicks(path: Path, places: list[int], height: float, length: int) -> None:
    """Write a 16-bit mono WAV at 48 kHz that is silent but for one sample at each place, as a file with holes."""
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + 2 * length, b"WAVE", b"fmt ", 16, 1, 1, 48_000, 96_000, 2,
                       16, b"data", 2 * length)  # fmt: skip
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + 2 * length)
        for place in places:
            file.seek(len(head) + 2 * place)
            file.write(struct.pack("<h", round(height * 32_768)))


def build_vocal_imitations(tree: Tree) -> None:
    """Lay out the Vocal Imitation Set."""
    base = "VocalImitationSet"
    levels = [f"category_d{depth}" for depth in range(1, 7)]
    header = ("imitation_id", "imitation_filename", "category_id", *levels, "reference_filename", "included", "draft",
              "training", "participant_id", "satisfaction", "participants_sound_recording_description")  # fmt: skip
    path = ("Sounds of things", "Vehicle", "Motor vehicle (road)", "Car alarm", "", "")
    names = [("001 - car alarm-1.wav", "True"), ("001 - car alarm-2.wav", "True"), ("001 - car alarm-3.wav", "False")]
    rows = [
        (number, name, 1, *path, "001Car_alarm.wav", included, "False", "False", "p7", "", 'a "car",\talarm')
        for number, (name, included) in enumerate(names)
    ]
    tree.table(f"{base}/vocal_imitations.txt", header, *rows, delimiter="\t")
    tree.audio(f"{base}/vocal_imitations/included/001 - car alarm-1.wav", f"{base}/vocal_imitations/included/odd.wav")
    tree.audio(f"{base}/vocal_imitations/excluded/001 - car alarm-3.wav")
    tree.audio(f"{base}/original_recordings/reference/001Car_alarm.wav")


def build_opensinger(tree: Tree) -> None:
    """Lay out OpenSinger."""
    for song in ("ManRaw/25_一路向北", "ManRaw/2_鼓楼", "ManRaw/28_默", "WomanRaw/47_左边", "WomanRaw/4_默"):
        clip = f"OpenSinger/{song}/{song.split('/')[1]}"
        tree.audio(f"{clip}_0.wav", f"{clip}_1.wav")
        tree.text(f"{clip}_0.txt", "你说我有点难追\n")
        tree.text(f"{clip}_2.txt", "后视镜里的世界\n")


def build_m4singer(tree: Tree) -> None:
    """Lay out M4Singer."""
    songs = ("Alto-1#暖暖", "Alto-1#美错", "Tenor-2#十年")
    tree.data("m4singer/meta.json", [{"item_name": f"{s}#{n}", "txt": "都可以随便的", "phs": ["d", "ou"]}
                                     for s in songs for n in ("0000", "0002")])  # fmt: skip
    for song in songs:
        tree.audio(f"m4singer/{song}/0000.wav", f"m4singer/{song}/0001.wav")
        tree.text(f"m4singer/{song}/0000.TextGrid", "")


def build_vocalset(tree: Tree) -> None:
    """Lay out VocalSet."""
    for singer in ("female2", "female1", "male10", "male1"):
        short = singer[0] + singer.lstrip("femal")
        tree.audio(f"FULL/{singer}/arpeggios/belt/{short}_arpeggios_belt_c_a.wav")
    tree.audio("FULL/female2/loose.wav", "__MACOSX/FULL/female2/arpeggios/belt/._f2_arpeggios_belt_c_a.wav")
    tree.text("test_singers_technique.txt", "female2\nmale10\nmale3\n")


def build_nsynth(tree: Tree) -> None:
    """Lay out NSynth."""
    family = {"instrument_family_str": "bass", "instrument_str": "bass_synthetic_068", "pitch": 49, "velocity": 25}
    note = family | {"instrument_source_str": "synthetic", "qualities_str": ["dark", "nonlinear_env"]}
    names = ("bass_synthetic_068-049-025", "bass_synthetic_068-050-025")
    tree.data("nsynth-test/examples.json", dict.fromkeys(names, note))
    tree.audio(f"nsynth-test/audio/{names[0]}.wav", "nsynth-test/audio/stray.wav")


def build_gtzan_genre(tree: Tree) -> None:
    """Lay out the GTZAN genres."""
    tree.audio("genres/blues/blues.00000.au", "genres/rock/rock.00099.au", "genres/rock/rock.00100.au")
    tree.text("genres/jazz/jazz.00054.wav", "no audio at all")
    tree.text("genres/bextract_single.mf", "")


def build_gtzan_music_speech(tree: Tree) -> None:
    """Lay out GTZAN music/speech."""
    tree.audio("music_speech/music_wav/bagpipe.wav", "music_speech/speech_wav/allison.wav")
    tree.text("music_speech/music.mf", "")
