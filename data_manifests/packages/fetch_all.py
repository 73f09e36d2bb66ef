"""Fetch several pinned files at a time, of package indexes or web servers; what cannot be had is told in one error."""

from __future__ import annotations

import contextlib
import functools
import glob
import itertools
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future, wait
from pathlib import Path

from codec_superb.data_manifests.errors import FetchError, WriteError
from codec_superb.data_manifests.manifest import PackageFile, PinnedFile
from codec_superb.data_manifests.packages.debian_mirrors import addresses
from codec_superb.data_manifests.packages.fetch import Fetcher, Received
from codec_superb.data_manifests.packages.index_client import WebFile
from codec_superb.data_manifests.packages.pip_settings import read_pip_settings
from codec_superb.data_manifests.progress import OnProgress, ProgressUpdate

_THREADS = 4
"""Concurrent downloads; more are not faster and burden the server."""

Wanted = PackageFile | WebFile


def fetch_tree(files: Iterable[PinnedFile], folder: Path, progress: OnProgress) -> None:
    """Make ``folder`` hold each pinned file at its path; what is there with the right SHA-256 is left alone.

    A file that another dataset beside it has fetched is linked. Raises FetchError as :func:`fetch_all` does.
    """
    files = list(files)
    for file in files:
        _take_over(file, folder)
    for parent, group in itertools.groupby(sorted(files, key=_parent), key=_parent):
        fetch_all({file.path: _web_file(file) for file in group}, folder / parent, progress)


def _take_over(file: PinnedFile, folder: Path) -> None:
    """Link a file that lies in the same place of another dataset; its hash is checked as that of any file."""
    place = folder / file.path
    for other in folder.parent.parent.glob(f"*/{folder.name}/{glob.escape(file.path)}"):
        if place.exists() or other.stat().st_size != file.size:
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(OSError):  # another file system, or one without links: it is fetched
            place.hardlink_to(other)


def _parent(file: PinnedFile) -> str:
    return file.path.rpartition("/")[0]


def _web_file(file: PinnedFile) -> WebFile:
    urls = (*addresses(file.url), *file.mirrors)
    return WebFile(file.url.rpartition("/")[0], Path(file.path).name, file.sha256, file.size, urls)


def fetch_all(files: Mapping[str, Wanted], folder: Path, progress: OnProgress) -> dict[str, Path]:
    """Return the path of each file in ``folder``, by its key, downloading those that are not there.

    Raises FetchError naming all files that cannot be had, why, and the folder to put them into by hand.
    """
    fetcher = Fetcher(folder, read_pip_settings())
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


def _refuse_missing(files: Mapping[str, Wanted], outcomes: dict[str, Future[Path]], folder: Path) -> None:
    errors = {files[key].filename: error for key, outcome in outcomes.items() if (error := outcome.exception())}
    reasons: list[str] = []
    for error in errors.values():
        if not isinstance(error, FetchError) or isinstance(error, WriteError):
            raise error
        reasons += [reason for reason in error.reasons if reason not in reasons]
    if errors:
        them = "it" if len(errors) == 1 else "them"
        raise FetchError(
            f"cannot fetch {', '.join(sorted(errors))}: {'; '.join(reasons)}; put {them} by hand into {folder}"
        )


class _Meter:
    """Sums the received bytes of all downloads, and serialises the calls of the progress callback."""

    def __init__(self, files: Collection[Wanted], progress: OnProgress) -> None:
        self._received = {file.filename: 0 for file in files}
        # of files that nobody states the size of, there is no total
        sizes = [file.size for file in files]
        self._total = sum(sizes) if all(sizes) else 0
        self._alone = len(files) == 1
        self._progress = progress
        self._lock = threading.Lock()

    def of(self, file: Wanted) -> Received:
        return functools.partial(self.tell, file.filename)

    def tell(self, filename: str, received: int) -> None:
        with self._lock:
            self._received[filename] = received
            self._progress(ProgressUpdate("download", sum(self._received.values()), self._total, filename, self._alone))
