"""Many clips on one machine: ``python perf/scale/many_clips.py --clips 100000``.

Clips of a tenth of a second go through the cheapest codec (G.711) and one cheap metric. Each stage is killed when 99 %
of its clips are in the journal, and resumed; then the run is reported, packed and checked. For each step: seconds of
the clock, processor seconds with the workers, and the peak memory of the process that drives them (VmHWM). The clips
are listed in a Parquet table, as those of prepared datasets of more than 100,000 are; ``--folder`` opens the folder of
files instead.

``--same`` takes one sound for all clips and kills each stage after its first rows; 99 % (``--done``) of the clips then
get the row and the file of the first one, which is what they would have got. So the driver meets a million clips
without the hours of their work. ``--shards N`` does the same to each of N shards, and merges them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from memory import RATE, make_folder

from codec_superb.pipeline.runs.shard import divided
from codec_superb.pipeline.submission.parts.writing import files_of

RUN = "from codec_superb.cli.main import run; run()"
KILL_AT = 0.99
CODEC = "g711_alaw"


class Step(NamedTuple):
    """What one process took."""

    seconds: float
    processor: float
    """Of it and its workers; 0 for one that was killed."""
    peak_mib: float


def watched(arguments: list[str], done: Callable[[], bool] | None = None) -> Step:
    """Run the program and watch its memory; kill it, and nothing else, once ``done`` says so."""
    before, started, peak = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic(), 0.0
    child = subprocess.Popen([sys.executable, "-c", RUN, *arguments], stdout=subprocess.DEVNULL)
    while child.poll() is None:
        peak = max(peak, peak_of(child.pid))
        if done is not None and done():
            child.kill()
        time.sleep(0.05)
    if done is None and child.returncode:
        sys.exit(f"{arguments} ended with exit code {child.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Step(time.monotonic() - started, 0.0 if done else processor, peak)


def peak_of(pid: int) -> float:
    """Return the peak memory of a process in MiB; 0 once it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0.0)


class Lines:
    """Counts the lines of a file that grows."""

    def __init__(self, path: Path) -> None:
        self._path, self._offset, self.count = path, 0, 0

    def reach(self, number: int) -> bool:
        """Whether there are so many now."""
        if self._path.is_file():
            with self._path.open("rb") as file:
                file.seek(self._offset)
                new = file.read()
            self._offset += len(new)
            self.count += new.count(b"\n")
        return self.count >= number


def make_same(folder: Path, clips: int) -> None:
    """Make ``clips`` files of one sound, in folders of a hundred."""
    make_folder(folder, 1)
    for number in range(1, clips):
        link(folder / "000" / "000000.wav", folder / place_of(number))


def place_of(number: int) -> str:
    """Return the path of a clip, as ``make_folder`` names it."""
    return f"{number // 100:03}/{number:06}.wav"


def link(source: Path, target: Path) -> None:
    """Link a file; copy it where a folder begins, since a file system allows it some ten thousand names."""
    if not target.parent.exists():
        target.parent.mkdir(parents=True)
        shutil.copy(source, target)
    else:
        os.link(next(target.parent.glob("[!.]*")), target)


def list_clips(folder: Path, clips: int) -> Path:
    """Write the clip list of ``folder`` beside it; return its folder."""
    from codec_superb.data_manifests.clip_list import ClipRecord, DatasetIndex
    from codec_superb.data_manifests.files import file_sha256
    from codec_superb.data_manifests.lists.clip_table import write_clip_table

    def records() -> Iterator[ClipRecord]:
        for place in sorted(map(place_of, range(clips))):
            yield ClipRecord(
                id=place, path=place, category="speech", sampling_rate=RATE, licence="CC0-1.0", attribution="made here",
                sha256=file_sha256(folder / place),
            )  # fmt: skip

    listed = folder.with_name("listed")
    index = DatasetIndex(name="clips", manifest_version="1", root=str(folder), clips=0, manifest_hash="0" * 64)
    write_clip_table(listed, index, records())
    return listed


def fill(run: Path, stage: str, clips: Iterable[str]) -> None:
    """Give clips the line of the first one that is finished, and its file."""
    journal, audio = run / "journal" / f"{stage}.jsonl", run / "audio" if stage == "resynth" else None
    lines = [json.loads(line) for line in journal.read_bytes().splitlines()]
    done = {line["clip"] for line in lines}
    with journal.open("a", encoding="ascii") as file:
        for clip in clips:
            if clip not in done:
                file.write(json.dumps(lines[0] | {"clip": clip}) + "\n")
            if audio is not None and not (target := audio / f"{clip}.flac").exists():
                link(audio / f"{lines[0]['clip']}.flac", target)


def measure(
    clips: int, workers: int, root: Path, *, same: bool, done_at: float = KILL_AT, as_folder: bool = False
) -> dict[str, Step]:
    """Run all steps below ``root``."""
    os.environ["CODEC_SUPERB_HOME"] = str(root / "home")
    folder, out = root / "clips", root / "runs"
    make_same(folder, clips) if same else make_folder(folder, clips)
    run = out / CODEC / "clips"
    journal = run / "journal"
    dataset = [str(folder), "--category", "speech"] if as_folder else [str(list_clips(folder, clips))]
    resynth = ["resynth", "--codec", CODEC, "--dataset", *dataset, "--out", str(out)]
    score = ["score", str(out), "--metric", "si_sdr"]
    found = {}
    for name, stage in (("resynth", resynth), ("score", score)):
        arguments = [*stage, "--workers", str(workers)]
        lines = Lines(journal / f"{name}.jsonl")
        until = 1 if same else int(done_at * clips)
        found[f"{name}, killed"] = watched(arguments, lambda lines=lines, until=until: lines.reach(until))
        if same:
            fill(run, name, map(place_of, range(int(done_at * clips))))
        found[f"{name}, resumed"] = watched(arguments)
        found[f"{name}, nothing left"] = watched(arguments)
    found["report"] = watched(["report", str(out), "--out", str(root / "report.html")])
    found["pack"] = watched(["pack", str(out), "--out", str(root / "submission.zip"), "--samples", "0"])
    files = files_of(root / "submission.zip")
    print(f"submission of {sum(file.stat().st_size for file in files) / 1e6:.1f} MB in {len(files)} files")
    found["check"] = watched(["check", str(files[0])])
    print(f"journals of {sum(f.stat().st_size for f in journal.iterdir()) / 1e6:.1f} MB")
    return found


def measure_merge(clips: int, shards: int, root: Path) -> dict[str, Step]:
    """Make shards, of whose rows all but the last are filled in, and merge them by one worker process and by two."""
    os.environ["CODEC_SUPERB_HOME"] = str(root / "home")
    folder, out = root / "clips", root / "runs"
    make_same(folder, clips)
    resynth = ["resynth", "--codec", CODEC, "--dataset", str(list_clips(folder, clips)), "--out", str(out)]
    stages = {"resynth": resynth, "score": ["score", str(out), "--metric", "si_sdr"]}
    for index, its in enumerate(divided(dict.fromkeys(map(place_of, range(clips)), 1), shards), start=1):
        run = out / CODEC / f"clips.shard-{index}-of-{shards}"
        for name, stage in stages.items():
            arguments = [*stage, "--shard", f"{index}/{shards}", "--workers", "1"]
            lines = Lines(run / "journal" / f"{name}.jsonl")
            watched(arguments, lambda lines=lines: lines.reach(1))
            fill(run, name, its[:-1])
            watched(arguments)
    return {
        f"merge, {workers} workers": watched(
            ["merge", str(out), "--out", str(root / f"merged-{workers}"), "--workers", str(workers)]
        )
        for workers in (1, 2)
    }


def print_steps(found: dict[str, Step]) -> None:
    """Print a table of steps."""
    print(f"\nload {os.getloadavg()[0]:.1f}\n")
    print("| step | s | processor s | peak, MiB |\n|---|---|---|---|")
    for name, step in found.items():
        print(f"| {name} | {step.seconds:.1f} | {step.processor:.1f} | {step.peak_mib:.0f} |")


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clips", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--same", action="store_true", help="one sound, of whose rows most are filled in")
    parser.add_argument(
        "--done", type=float, default=KILL_AT, help="share of the clips that are done when it is killed"
    )
    parser.add_argument("--folder", action="store_true", help="a folder of files, without a clip list")
    parser.add_argument("--shards", type=int, help="measure the merge of so many shards, and nothing else")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        if given.shards:
            found = measure_merge(given.clips, given.shards, Path(place))
        else:
            found = measure(
                given.clips, given.workers, Path(place), same=given.same, done_at=given.done, as_folder=given.folder
            )
    print(f"\n{given.clips} clips")
    print_steps(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
