"""Shared by the tests of published datasets: archives as publishers make them, served, and manifests that name them."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from support.datasets.package_files import IndexServer, noise, wav_bytes

from codec_superb.data_manifests.manifest import Manifest


def tar_gz(members: Mapping[str, bytes | tarfile.TarInfo]) -> bytes:
    """Return a tar.gz; a member that is a TarInfo is written as it says, without content."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                content.name = name
                archive.fileobj.write(content.tobuf())  # type: ignore[union-attr]  # open, since it is written to
                continue
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def zipped(members: Mapping[str, bytes]) -> bytes:
    """Return a zip file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def served(index: IndexServer, name: str, content: bytes, **fields: Any) -> dict[str, Any]:
    """Serve a file; return its entry in a manifest, with its SHA-256 unless ``fields`` say otherwise."""
    index.files[name] = ("", content)
    known = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return {"url": index.url.replace("/simple/", f"/files/{name}"), **known, **fields}


def published(layout: str, *archives: dict[str, Any], splits: tuple[str, ...] = (), **download: Any) -> Manifest:
    """Return a manifest of a dataset that is offered to everybody."""
    return Manifest.model_validate({
        "name": "tiny", "title": "Tiny", "version": "1", "description": "two sounds", "categories": ["speech"],
        "licence": "CC0-1.0", "homepage": "https://example.org/tiny", "partition": {"text": "all", "splits": splits},
        "source": {
            "kind": "local", "layout": layout, "url": "https://example.org/tiny",
            "download": {"seen": "2026-01-01", "source": "a test", "archives": archives} | download,
        },
    })  # fmt: skip


def librispeech(split: str) -> dict[str, bytes]:
    """Return the members of an archive of LibriSpeech: two utterances, and files that belong to no split."""
    base = f"LibriSpeech/{split}/61/70968/61-70968"
    return {
        "LibriSpeech/README.TXT": b"read me",
        "LibriSpeech/BOOKS.TXT": np.random.default_rng(0).bytes(900_000),
        f"{base}.trans.txt": b"61-70968-0000 ONE\n61-70968-0001 TWO\n",
        f"{base}-0000.flac": wav_bytes(noise(0.4, seed=1), format="FLAC"),
        f"{base}-0001.flac": wav_bytes(noise(0.3, seed=2), format="FLAC"),
    }
