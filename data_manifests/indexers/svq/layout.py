"""Index one locale of Simple Voice Questions, version 1 or 2: labels and collections first, then the audio."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from codec_superb.data_manifests.audio.store import AudioStore
from codec_superb.data_manifests.clip_id import escape_path
from codec_superb.data_manifests.collections import checked
from codec_superb.data_manifests.errors import AudioFileError, LayoutError, ManifestError
from codec_superb.data_manifests.indexers.listing import FoundClip, IndexRequest, Listing
from codec_superb.data_manifests.indexers.svq.recordings import Recording, find_recordings, read_audio
from codec_superb.data_manifests.indexers.svq.tables import Folder
from codec_superb.data_manifests.indexers.svq.tasks import WAYS, Tasks, read_tasks
from codec_superb.data_manifests.manifest import ManifestLabels
from codec_superb.data_manifests.progress import ProgressUpdate

_UNTOLD = {"", "no answer", "no_answer"}
"""Genders of speakers who gave none."""
_COUNTS = {
    "queries_reranking": ("query_reranking", "speech_transcription"),
    **{
        f"queries_{way}": (f"passage_retrieval_{way}", f"document_retrieval_{way}", f"span_reasoning_{way}")
        for way, _ in WAYS
    },
}
"""Options of a manifest that say how many queries each of these tables has."""


def find(request: IndexRequest) -> Listing:
    """List the recordings of the locale that the option ``locale`` names, stored as FLAC, with labels and collections.

    Options: ``locale`` as the publisher writes it (``en_us``), ``language`` (BCP 47), and the published numbers of
    queries, which the report compares.
    """
    locale, language = (_option(request, name) for name in ("locale", "language"))
    folder = Folder(request.root)
    recordings = find_recordings(folder, locale)
    tasks = read_tasks(folder, locale, recordings)
    listing = Listing(request.store, stored=True)
    listing.collections = tasks.collections()
    for name, rows in listing.collections.items():  # bad texts are an error before hours of audio
        deque(checked(rows, f"collection {name}"), maxlen=0)
    listing.notes += _counted(request, tasks) + tasks.notes + _commits(request.root)
    gone = {name for name, recording in recordings.items() if recording.file is None}
    listing.missing += sorted(gone | tasks.absent)
    _store_audio(request, recordings, tasks, language, listing)
    return listing


def _option(request: IndexRequest, name: str) -> str:
    value = request.options.get(name)
    if not isinstance(value, str):
        raise ManifestError(f"the layout svq needs the option {name}, got {sorted(request.options)}")
    return value


def _store_audio(
    request: IndexRequest, recordings: dict[str, Recording], tasks: Tasks, language: str, listing: Listing
) -> None:
    total = sum(recording.file is not None for recording in recordings.values())
    with AudioStore(request.store) as store:
        for done, (recording, content) in enumerate(read_audio(recordings), start=1):
            where = f"{recording.file}, recording {recording.id}"
            try:
                if content is None:
                    raise AudioFileError(f"{where} holds no audio")  # noqa: TRY301 - told as undecodable audio is
                clip_id = escape_path(recording.id.encode())
                path = store.put(clip_id, content, where)
            except AudioFileError as error:
                listing.missing.append(recording.id)
                listing.notes.append(str(error))
            except ValueError as error:
                raise LayoutError(f"{where}: the id makes no clip id: {error}") from error
            else:
                labels = _labels(recording, tasks, language)
                listing.found.append(FoundClip(clip_id, path, labels, labelled=labels.text is not None))
            request.progress(ProgressUpdate("cut", done, total, recording.id))


def _labels(recording: Recording, tasks: Tasks, language: str) -> ManifestLabels:
    facts = recording.facts
    gender = "" if facts.get("speaker_gender", "").lower() in _UNTOLD else facts["speaker_gender"]
    own = {"environment": facts.get("environment", ""), "gender": gender, "age": facts.get("speaker_age", "")}
    extra = {name: value for name, value in (own | tasks.labels.get(recording.id, {})).items() if value}
    return ManifestLabels(
        text=facts.get("text") or tasks.texts.get(recording.id),
        language=language,
        speaker=facts.get("speaker_id") or None,
        extra=extra,
    )


def _counted(request: IndexRequest, tasks: Tasks) -> list[str]:
    """Say how many queries each table has, against the published numbers."""
    published = {table: request.options[name] for name, tables in _COUNTS.items() if name in request.options
                 for table in tables}  # fmt: skip
    notes = []
    for table in dict.fromkeys([*published, *tasks.queries]):
        count = f"{tasks.queries[table]} queries" if table in tasks.queries else "not there"
        notes.append(f"{table}: {count}" + (f" ({published[table]} published)" if table in published else ""))
    return notes


def _commits(root: Path) -> list[str]:
    """Say which commits of the hub the files are of, where the hub's client noted them beside its downloads."""
    # huggingface_hub writes <file>.metadata, whose first line is the commit
    noted = (root / ".cache" / "huggingface" / "download").rglob("*.metadata")
    commits = sorted({path.read_text(encoding="utf-8", errors="replace").partition("\n")[0][:40] for path in noted})
    return [f"downloaded at commit {', '.join(commits)} of the hub"] if commits else []
