"""Looks up datasets prepared on this machine for the check of a submission; the service has a table instead."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from codec_superb.data_manifests import Clip, Dataset, open_dataset
from codec_superb.data_manifests.catalogue import MANIFESTS, load_manifest, manifest_names
from codec_superb.data_manifests.errors import AudioFileError, DatasetNotPrepared
from codec_superb.metrics.score import undefined_by_reference
from codec_superb.pipeline.runs.dataset_access import load_mono
from codec_superb.pipeline.submission.facts.clips import KnownClip, KnownDataset, dump_clips, shipped_clips
from codec_superb.pipeline.submission.facts.fingerprint import fingerprint
from codec_superb.pipeline.submission.samples import as_sample


def prepared_dataset(name: str) -> KnownDataset | None:
    """Hash and clips of a named dataset that is prepared here; None where it is not, or where no manifest has the name.

    Rates and lengths are those that the files state; nothing is decoded. Of a dataset whose facts the program brings
    these are taken. Pass it as ``known`` to
    :func:`codec_superb.pipeline.submission.check.check`. A prepared dataset that is damaged raises the dataset's own
    error.
    """
    # A name from an untrusted file must not be resolved as a folder of this machine.
    if name not in manifest_names():
        return None
    try:
        dataset = open_dataset(name)
    except DatasetNotPrepared:
        return None
    return KnownDataset(dataset.manifest_hash, _lengths(name, dataset.manifest_hash))


@lru_cache(maxsize=4)
def _lengths(name: str, manifest_hash: str) -> Mapping[str, KnownClip]:
    """Read the headers of a state of a dataset once, since a check asks several times."""
    dataset = open_dataset(name)
    shipped = shipped_clips(name)
    if shipped and getattr(load_manifest(name).source, "manifest_hash", None) == manifest_hash:
        return shipped
    return {clip: length_of(dataset.clip(clip)) for clip in dataset.clip_ids()}


def length_of(clip: Clip) -> KnownClip:
    """Return what is known of a clip without its sound; rate and length by its header, None where it states none."""
    try:
        header = clip.header()
    except OSError:
        header = None
    rate, samples = header or (None, None)
    return KnownClip(clip.category, rate, samples, cluster=clip.cluster, slice=clip.slice)


def facts_of(clip: Clip) -> KnownClip:
    """Return everything that a board keeps of a clip; it is decoded, and every metric computed of it against itself.

    The reference of a clip that cannot be decoded fails for every codec: its facts are not known.
    """
    try:
        audio, rate = load_mono(clip)
    except AudioFileError:
        return KnownClip(clip.category, cluster=clip.cluster, slice=clip.slice)
    sound, undefined = fingerprint(as_sample(audio, rate), rate), undefined_by_reference(audio, rate)
    return KnownClip(clip.category, rate, int(audio.size), undefined, sound, clip.cluster, clip.slice)


def facts_of_dataset(dataset: Dataset, *, metrics: bool = True) -> KnownDataset:
    """Return what a board keeps of a dataset; without ``metrics`` nothing that follows from its sound."""
    of = facts_of if metrics else length_of
    return KnownDataset(dataset.manifest_hash, {clip: of(dataset.clip(clip)) for clip in dataset.clip_ids()})


if __name__ == "__main__":
    # the service has no sound: the facts of its own dataset are data of the repository
    (MANIFESTS / "mini.clips.json").write_bytes(dump_clips(facts_of_dataset(open_dataset("mini")).clips))
