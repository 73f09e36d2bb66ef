"""Provenance of a submission's numbers in words: the file, and a stamp per dataset and stage."""

from __future__ import annotations

from collections.abc import Sequence

from codec_superb.pipeline.runs.info import Provenance, is_imported
from codec_superb.pipeline.submission.schema import SubmittedDataset
from codec_superb.server.codecs.facts import web_address
from codec_superb.server.database.models import Submission
from codec_superb.web.site.codec.view import Fact, StageView
from codec_superb.web.text import count

STAGES = {"resynth": "Resynthesis", "imported": "Import", "score": "Scoring", "probe": "Probing"}
"""Labels of the stages of a run."""
ELSEWHERE = "imported: resynthesised elsewhere"
"""What is said of sound that this program did not make."""


def stages(submission: Submission, datasets: Sequence[SubmittedDataset]) -> list[StageView]:
    """Describe the file, each dataset, and each stage; stages that differ in nothing but command and time are one."""
    found = [_file(submission)]
    found += [StageView(f"Dataset {dataset.title}", _dataset(dataset)) for dataset in datasets]
    shared: dict[str, tuple[Provenance, list[tuple[str, Provenance]]]] = {}
    for dataset in datasets:
        for stamp in dataset.provenance:
            same = stamp.model_copy(update={"command": "", "started": ""}).model_dump_json()
            shared.setdefault(same, (stamp, []))[1].append((dataset.title, stamp))
    for stamp, runs in shared.values():
        found.append(StageView(f"{STAGES[stamp.stage]} of {_listed([title for title, _ in runs])}", _stage(runs)))
    return found


def machines(datasets: Sequence[SubmittedDataset]) -> str:
    """Name the hardware of the timings: that of resynthesis, the only stage that encodes and decodes."""
    stamps = [stamp for dataset in datasets for stamp in dataset.provenance]
    if is_imported(stamps):
        return "no machine of this program: the sound was resynthesised elsewhere"
    made = [stamp for stamp in stamps if stamp.stage == "resynth"]
    found = dict.fromkeys(f"{stamp.processor} ({stamp.device}{_batches(stamp)}), {stamp.platform}" for stamp in made)
    return "; ".join(found) or "a machine that the submission does not name"


def _batches(stamp: Provenance) -> str:
    return f", batches of {stamp.batch_seconds:g} s" if stamp.batch_seconds else ""


def _listed(titles: Sequence[str]) -> str:
    names = list(dict.fromkeys(titles))
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _file(submission: Submission) -> StageView:
    metrics = ", ".join(f"{key} {version}" for key, version in sorted(submission.metrics.items()))
    facts = [
        Fact("Submission", submission.id, url=f"/submissions/{submission.id}"),
        Fact("Made", submission.created, "when its last stage began"),
        Fact("Received", submission.received.isoformat(timespec="seconds")),
        Fact("SHA-256", submission.file_sha256, f"of the file of {submission.file_size:,} bytes"),
        Fact("Definitions", metrics, "version of each metric’s definition"),
    ]
    return StageView("The file", facts + [Fact("Note", str(note)) for note in submission.notes])


def _dataset(dataset: SubmittedDataset) -> list[Fact]:
    facts = [
        Fact("Manifest", dataset.manifest_hash, "SHA-256 over clip ids, audio and labels: equal means the same sound"),
        Fact("Clips", _clips(dataset)),
        Fact("Licence", dataset.licence),
        Fact("Specification", dataset.spec_hash, "SHA-256 over format, card and manifest"),
    ]
    if dataset.homepage:
        facts.append(Fact("Homepage", dataset.homepage, url=web_address(dataset.homepage)))
    return facts


def _clips(dataset: SubmittedDataset) -> str:
    asked = f"{dataset.selected} of {count(dataset.clips, 'clip')}"
    return f"{asked}: {dataset.ok} ok, {dataset.failed} failed, {dataset.undefined} with an undefined metric"


def _taken_over(stamp: Provenance) -> list[Fact]:
    """Say that the sound was made elsewhere, and what was done to it when it came."""
    if stamp.stage != "imported":
        return []
    made = stamp.taken_over
    done = []
    if made is not None and made.fitted:
        ends = f"cut or padded at the end, by {made.longest_ms:.3g} ms at most"
        done.append(f"{made.fitted} of {count(made.files, 'file')} {ends}")
    if made is not None and made.resampled:
        done.append(f"{made.resampled} resampled to the rate of their reference")
    return [Fact("Sound", ELSEWHERE, "; ".join(done) or "taken over as it came")]


def _stage(runs: Sequence[tuple[str, Provenance]]) -> list[Fact]:
    stamp = runs[0][1]
    state = {None: "", False: ", without local changes", True: ", with local changes that are in no commit"}[
        stamp.dirty
    ]
    packages = ", ".join(f"{name} {version}" for name, version in sorted(stamp.packages.items()))
    backends = ", ".join(f"{key}: {name}" for key, name in sorted(stamp.backends.items()))
    facts = [
        *_taken_over(stamp),
        Fact("Program", f"codec-superb {stamp.tool_version}, commit {stamp.commit or 'of a release'}{state}"),
        Fact("Machine", f"{stamp.processor}, {stamp.device}{_batches(stamp)}", stamp.platform),
        Fact("Python", stamp.python),
        Fact("Packages", packages or "none named"),
    ]
    if backends:
        facts.append(Fact("Backends", backends, "implementation that ran, of metrics that have more than one"))
    commands: dict[str, list[str]] = {}
    for title, run in runs:
        commands.setdefault(run.command, []).append(f"{title}, started {run.started}")
    return facts + [Fact("Command", command, "; ".join(started)) for command, started in commands.items()]
