"""Small trees in the published layouts of Simple Voice Questions, called synthetic: tones, and texts made up here.

Version 1 has all locales in each file; version 2 a file for each locale and condition, as far as is known of it.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import soundfile

Row = dict[str, Any]

RATE = 16_000
ENVIRONMENTS = ("clean", "media_noise")
TEXTS = {"en_us": ("How old is Rome?", "Who built the wall?"), "fi_fi": ("Kuinka vanha Rooma on?", "Kuka rakensi sen?")}
PASSAGES = [
    {"id": f"english-{n}", "title": title, "context": text}
    for n, (title, text) in enumerate(
        [
            ("Rome", "Rome is said to have been founded in 753 BC."),
            ("Wall", "The wall was built by Hadrian."),
            ("", "No one."),
        ]
    )
]


def tone(number: int) -> bytes:
    """Return a WAV file of 0.05 s, another for each number."""
    buffer = io.BytesIO()
    samples = 0.3 * np.sin(2 * np.pi * (220 + 40 * number) * np.arange(RATE // 20) / RATE)
    soundfile.write(buffer, samples, RATE, format="WAV", subtype="PCM_16")
    return buffer.getvalue()


def recordings() -> list[Row]:
    """Return two texts of two locales in two conditions, by one speaker each: eight recordings."""
    rows = []
    for locale, texts in TEXTS.items():
        for text in texts:
            for environment in ENVIRONMENTS:
                number = len(rows)
                rows.append({
                    "utt_id": f"utt_{90 - number}", "locale": locale, "speaker_id": f"speaker_{number}",
                    "speaker_age": 20 + number if number else None, "environment": environment, "text": text,
                    "speaker_gender": ("female", "male", "non_binary", "no answer")[number % 4],
                    "waveform": {"bytes": tone(number), "path": None},
                })  # fmt: skip
    return rows


def tasks(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the task tables of these recordings: in-language for English, cross-language for Finnish."""
    facts = [{key: value for key, value in row.items() if key != "waveform"} for row in rows]
    tables: dict[str, list[Row]] = {name: [] for name in ("query_reranking", "speech_transcription", "salient_term")}
    for row in facts:
        number = TEXTS[row["locale"]].index(row["text"])
        way = "in_lang" if row["locale"] == "en_us" else "cross_lang"
        passage = PASSAGES[number]
        answer = {"spans": ["753 BC", "Hadrian", ""], "span": ("753 BC", None)[number]}
        about = {"passage_id": passage["id"], "page_title": passage["title"], "passage_text": passage["context"]}
        for name in (f"passage_retrieval_{way}", f"document_retrieval_{way}"):
            tables.setdefault(name, []).append(row | about | {"span": None})
        tables.setdefault(f"span_reasoning_{way}", []).append(row | about | answer)
        tables["query_reranking"].append(row | {"candidates": [row["text"], row["text"].lower(), row["text"][:-1]]})
        tables["speech_transcription"].append(row | {"transcript_truth": row["text"]})
        words = row["text"].split()
        times = [[0.25 * n, 0.25 * n + 0.2] for n in range(len(words))]
        tables["salient_term"].append(row | {
            "topk_salient_terms": words[1:3], "topk_salient_terms_timestamps": times[1:3],
            "candidate_salient_terms": words, "candidate_salient_terms_timestamps": times,
        })  # fmt: skip
    indexes = {f"passage_retrieval_{way}_index": [*PASSAGES[::-1], PASSAGES[0]] for way in ("in_lang", "cross_lang")}
    small = [{"title": passage["title"], "text": passage["context"]} for passage in PASSAGES[:2]]
    return tables | indexes | {f"document_retrieval_{way}_small_index": small for way in ("in_lang", "cross_lang")}


def build_v1(root: Path, *, suffix: str = ".jsonl") -> None:
    """Lay out version 1: audio in Parquet, two row groups of four, the index and a table a task beside it."""
    rows = recordings()
    write_parquet(root / "audio" / "utts-00000-of-00001.parquet", rows, 4)
    index = [
        {key: value for key, value in row.items() if key not in {"waveform", "text"}} | {"index": f"audio/x:{number}"}
        for number, row in enumerate(rows)
    ]
    write_table(root / "utt_index.jsonl", index)
    for name, table in tasks(rows).items():
        write_table(root / f"{name}{suffix}", table)


def build_v2(root: Path) -> None:
    """Lay out version 2: everything in Parquet, audio and tasks by locale and condition, indexes whole."""
    rows = recordings()
    for (locale, environment), part in _parts(rows).items():
        bare = [{key: value for key, value in row.items() if key not in {"locale", "environment"}} for row in part]
        write_parquet(root / "audio" / locale / f"{environment}-00000-of-00001.parquet", bare)
    for name, table in tasks(rows).items():
        if name.endswith("_index"):
            write_table(root / f"{name}.parquet", table)
            continue
        for (locale, environment), part in _parts(table).items():
            write_table(root / name / locale / f"{environment}.parquet", part)


def _parts(rows: Sequence[Row]) -> Mapping[tuple[str, str], list[Row]]:
    parts: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        parts.setdefault((row["locale"], row["environment"]), []).append(row)
    return parts


def write_table(path: Path, rows: Sequence[Row]) -> None:
    """Write JSON lines or Parquet, as the suffix says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        write_parquet(path, rows)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_parquet(path: Path, rows: Sequence[Row], group: int | None = None) -> None:
    """Write rows to Parquet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows)), path, row_group_size=group)


def array_record(records: Sequence[bytes], *, compression: str = "zstd") -> bytes:
    """Return an ArrayRecord file of one chunk of records, as the format describes it; its hashes are zeros."""
    sizes = b"".join(map(_varint, map(len, records)))
    values = b"".join(records)
    packed = [sizes, values]
    if compression != "none":
        packed = [_varint(len(part)) + pa.compress(part, codec=compression, asbytes=True) for part in packed]
    kind = {"zstd": b"z", "brotli": b"b", "none": b"\0"}[compression]
    data = kind + _varint(len(packed[0])) + packed[0] + packed[1]
    chunks = _chunk(b"s", 0, b"", 0) + _chunk(b"r", len(records), data, len(values))
    blocks = [chunks[start : start + 65_536 - 24] for start in range(0, len(chunks), 65_536 - 24)]
    return b"".join(bytes(24) + block for block in blocks)


def _chunk(kind: bytes, count: int, data: bytes, decoded: int) -> bytes:
    return struct.pack("<QQQc7sQ", 0, len(data), 0, kind, count.to_bytes(7, "little"), decoded) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
