"""The schema of a manifest: a YAML file that describes a dataset and the source of its clips.

A manifest never holds audio. It names a source of one of four kinds:

``packages``
    exact files of a package index, with their SHA-256; the clips are cut out of their members (``mini``);
``files``
    exact files of web servers, with their SHA-256; an indexer reads them as a publisher's folder (``svq_ten``);
``local``
    a folder in the publisher's layout, fetched where it is offered to everybody, or the user's; an indexer reads it
    (``librispeech``, ``esc50``, …);
``huggingface``
    a repository of the Hugging Face hub and the splits to read.

Every source is turned into the clip list of :mod:`codec_superb.data_manifests.clip_list`.
"""

from __future__ import annotations

import datetime as dt
import fnmatch
import re
from collections.abc import Collection
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, Self
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from codec_superb.data_manifests.clip import Category
from codec_superb.data_manifests.clip_id import check_clip_id
from codec_superb.data_manifests.collections import CollectionName

SCHEMA_VERSION: Literal[1] = 1
"""Version of the schema; increased when a valid manifest would be read differently."""

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=64)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Md5 = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Text = Annotated[str, Field(min_length=1)]
Url = Annotated[str, Field(pattern=r"^https?://\S+$")]


class StrictModel(BaseModel):
    """Strict and immutable model: an unknown (misspelt) field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ExpectedClips(StrictModel):
    """The number of clips of the published dataset after the partition rule."""

    count: int = Field(gt=0)
    source: Text
    """Where the count comes from: the publisher's page or paper, or a count of the publisher's own file list."""


class Partition(StrictModel):
    """Which clips of the publisher's dataset belong to the benchmark."""

    text: Text
    """The rule in words, as the benchmark's paper gives it."""
    splits: tuple[str, ...] = ()
    """The publisher's split or folder names that are used; empty where there is no split."""
    include: tuple[str, ...] = ()
    """Shell patterns on the clip's relative POSIX path, one of which must match; empty takes all."""
    exclude: tuple[str, ...] = ()
    """Shell patterns on the clip's relative POSIX path, none of which may match."""


class ManifestLabels(StrictModel):
    """The labels of a clip in a manifest or clip list; unknown ones are omitted."""

    text: str | None = None
    language: str | None = None
    speaker: str | None = None
    emotion: str | None = None
    events: tuple[str, ...] = ()
    extra: dict[str, str] = Field(default_factory=dict)
    question: str | None = None
    choices: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


class PackageFile(StrictModel):
    """One file of a package index, pinned."""

    project: Text
    version: Text
    # It becomes the name of a local file: no path separators.
    filename: Annotated[str, Field(pattern=r"^[^/\\\x00]+\.(whl|zip|tar\.gz)$")]
    sha256: Sha256
    size: int = Field(gt=0)
    """Bytes."""


class PackageClip(StrictModel):
    """One clip: a member of a package file, whole or cut, or several short ones of a class joined together."""

    id: str
    member: Text | Annotated[tuple[Text, ...], Field(min_length=2)]
    """Path of the audio file inside the package file; several are joined with a short silence between them."""
    start: float = Field(default=0.0, ge=0.0)
    """Seconds from the beginning of the recording."""
    duration: float | None = Field(default=None, gt=0.0)
    """Seconds; None takes everything after ``start``."""
    labels: ManifestLabels = ManifestLabels()

    @property
    def members(self) -> tuple[str, ...]:
        """The paths inside the package file, in order."""
        return (self.member,) if isinstance(self.member, str) else self.member

    @field_validator("id")
    @classmethod
    def _id_is_portable(cls, value: str) -> str:
        return check_clip_id(value)


class ClipGroup(StrictModel):
    """Clips that come from one package file under one licence."""

    file: Name
    """A key of the source's ``files``."""
    category: Category
    licence: Text
    """SPDX identifier where there is one, otherwise the publisher's own name for the licence."""
    licence_evidence: Text
    """Source of the licence statement: a member of the package file, or a public page."""
    attribution: Text
    labels: ManifestLabels = ManifestLabels()
    """Labels that all clips of the group share; a clip's own labels are merged over them."""
    clips: tuple[PackageClip, ...] = Field(min_length=1)


class ManifestRow(StrictModel):
    """One row of a collection that is written in a manifest; see :mod:`codec_superb.data_manifests.collections`."""

    id: Text
    list: str = ""
    title: str = ""
    text: str = ""
    start: float | None = None
    end: float | None = None
    weight: float | None = None


class PackageTable(StrictModel):
    """A collection in a member of a package file: CSV or Parquet with the columns of a user's folder."""

    file: Name
    """A key of the source's ``files``."""
    member: Annotated[str, Field(pattern=r"\.(csv|parquet)$")]


class PackagesSource(StrictModel):
    """Clips cut out of pinned package files."""

    kind: Literal["packages"]
    files: dict[Name, PackageFile] = Field(min_length=1)
    groups: tuple[ClipGroup, ...] = Field(min_length=1)
    collections: dict[CollectionName, tuple[ManifestRow, ...] | PackageTable] = Field(default_factory=dict)
    manifest_hash: Sha256 | None = None
    """The ``manifest_hash`` that the prepared dataset must have on every machine; None until it is known."""

    @model_validator(mode="after")
    def _files_and_ids_fit(self) -> Self:
        tables = [table for table in self.collections.values() if isinstance(table, PackageTable)]
        used = {group.file for group in self.groups} | {table.file for table in tables}
        unknown = sorted(used - self.files.keys())
        if unknown:
            raise ValueError(f"groups or collections name files that `files` does not have: {', '.join(unknown)}")
        seen: set[str] = set()
        for clip in (clip for group in self.groups for clip in group.clips):
            if clip.id in seen:
                raise ValueError(f"clip id {clip.id!r} is given twice")
            seen.add(clip.id)
        return self


class IndexedSource(StrictModel):
    """A folder in the publisher's own layout."""

    layout: Name | Annotated[str, Field(pattern=r"^[\w./-]+:\w+$")]
    """The indexer that reads the folder: a module of :mod:`codec_superb.data_manifests.indexers`; of a plug-in
    ``package.module:function``, or ``file.py:function`` beside the manifest."""
    options: dict[str, str | int | float | bool | tuple[str, ...]] = Field(default_factory=dict)
    """Settings of the indexer."""


def is_wanted(path: str, patterns: Collection[str]) -> bool:
    """Whether one of the shell patterns fits ``path``, where ``*`` also matches ``/``; none fit all."""
    # fnmatchcase: fnmatch folds case on Windows
    return not patterns or any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


class Archive(StrictModel):
    """One file that a publisher offers to everybody: an archive, a part of one (``.z01``), or a plain file."""

    url: Url
    mirrors: tuple[Url, ...] = ()
    """Further addresses of the same file, asked in turn where the first does not give it."""
    size: int | None = Field(default=None, gt=0)
    """Bytes; None where no source states them: the server is asked."""
    about: int | None = Field(default=None, gt=0)
    """Bytes as the publisher rounds them, where only that is known."""
    sha256: Sha256 | None = None
    md5: Md5 | None = None
    """The publisher's MD5, where no SHA-256 is known. With neither, the hash that comes first is kept and held to."""
    members: tuple[Text, ...] = ()
    """Shell patterns of the members that the partition needs, one of which must match; empty takes all."""
    inner: tuple[Text, ...] = ()
    """Shell patterns for the members of archives within the archive, which are unpacked where those would lie."""
    into: str = ""
    """Folder that the members belong into, where the archive has none."""

    @property
    def filename(self) -> str:
        """The name of the file: the last part of its address."""
        return unquote(PurePosixPath(urlsplit(self.url).path).name)

    @field_validator("into")
    @classmethod
    def _into_is_portable(cls, value: str) -> str:
        return value and check_clip_id(value)


class HubFolder(StrictModel):
    """Files of a dataset repository of the Hugging Face hub."""

    repo: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")] | None = None
    """Commit; None takes the newest at the first time, which is kept and held to."""
    files: tuple[Text, ...] = ()
    """Shell patterns of the files, one of which must match; empty takes all."""


class Download(StrictModel):
    """What ``datasets prepare`` fetches where a publisher offers a dataset to everybody."""

    archives: tuple[Archive, ...] = ()
    hub: HubFolder | None = None
    seen: dt.date
    """The day on which addresses, sizes and hashes were last compared with their source."""
    source: Text
    """Where they come from."""
    agreement: str = ""
    """What its licence asks a user to agree to; empty where fetching it asks for nothing."""

    @model_validator(mode="after")
    def _names_are_different(self) -> Self:
        if bool(self.archives) == bool(self.hub):
            raise ValueError("a download has either archives or a folder of the hub")
        names = [archive.filename for archive in self.archives]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"archives have the same name: {', '.join(twice)}")
        return self


class LocalSource(IndexedSource):
    """A folder in the publisher's layout: ``prepare`` fetches it where there is a ``download``, or the user has it."""

    kind: Literal["local"]
    url: Url
    """Page from which the dataset is downloaded."""
    access: str = ""
    """Conditions of access (registration, agreement), in one or two sentences."""
    download: Download | None = None
    steps: tuple[Text, ...] = ()
    """What a user does to get it, one step each, where it is not offered to everybody."""


class PinnedFile(StrictModel):
    """One file of a web server, pinned."""

    url: Url
    """Address of this version for ever: with a commit or a version in it. For a file of Debian's archive, the mirrors
    that apt is configured with are asked first."""
    mirrors: tuple[Url, ...] = ()
    """Further addresses of the same file, asked in turn where the first does not give it."""
    sha256: Sha256
    size: int = Field(gt=0)
    """Bytes."""
    path: Annotated[str, Field(pattern=r"^[^\\\x00]+$")]
    """Where the file lies in the folder that the indexer reads, POSIX."""

    @field_validator("path")
    @classmethod
    def _path_is_portable(cls, value: str) -> str:
        return check_clip_id(value)


class FilesSource(IndexedSource):
    """Pinned files that are fetched into a folder, which an indexer reads."""

    kind: Literal["files"]
    files: tuple[PinnedFile, ...] = Field(min_length=1)
    manifest_hash: Sha256 | None = None
    """The ``manifest_hash`` that the prepared dataset must have on every machine; None until it is known."""

    @model_validator(mode="after")
    def _paths_are_different(self) -> Self:
        paths = [file.path for file in self.files]
        if twice := sorted({path for path in paths if paths.count(path) > 1}):
            raise ValueError(f"files are given twice: {', '.join(twice)}")
        return self


class HuggingFaceSplit(StrictModel):
    """One split of a hub repository and the category of its clips."""

    split: Text
    category: Category


class HuggingFaceSource(StrictModel):
    """A dataset repository of the Hugging Face hub."""

    kind: Literal["huggingface"]
    repo: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    revision: str | None = None
    """Commit; None reads the newest."""
    splits: tuple[HuggingFaceSplit, ...] = Field(min_length=1)
    download: Download | None = None


Source = Annotated[PackagesSource | FilesSource | LocalSource | HuggingFaceSource, Field(discriminator="kind")]


class Manifest(StrictModel):
    """Description of a dataset: names, licence, partition rule, expected counts and the source of its clips."""

    schema_version: Literal[1] = SCHEMA_VERSION
    name: Name
    title: Text
    version: Text
    """Version of this manifest's selection, quoted as a string; changes with any change of clips or labels."""
    description: Text
    categories: tuple[Category, ...] = Field(min_length=1)
    licence: Text
    homepage: Url
    citation: str | None = None
    """BibTeX."""
    partition: Partition
    cluster: Text = "speaker"
    """What makes clips alike, so that they are no independent evidence: ``speaker``, ``text`` where many read one, a
    label of the dataset's own, or ``clip`` where none is published. Clips of package files without that label are alike
    within their recording."""
    slice: Text | None = None
    """The label of the dataset's own that names a clip's recording condition (``environment``): figures are also given
    for each of its values; None where there is none."""
    sampling_rate: int | None = Field(default=None, gt=0)
    """Hz; None where clips differ."""
    expected_clips: ExpectedClips | None = None
    source: Source

    @property
    def is_fetched(self) -> bool:
        """Whether it is made of pinned files, which ``datasets prepare`` and ``bench`` fetch without a question."""
        return isinstance(self.source, PackagesSource | FilesSource)

    @property
    def download(self) -> Download | None:
        """What ``datasets prepare`` fetches after a question; None where there is nothing to fetch, or no question."""
        return self.source.download if isinstance(self.source, LocalSource | HuggingFaceSource) else None

    @field_validator("citation")
    @classmethod
    def _citation_is_bibtex(cls, value: str | None) -> str | None:
        if value is not None and not re.match(r"\s*@\w+\s*\{", value):
            raise ValueError("a citation is a BibTeX entry and begins with @article{ or the like")
        return value


def manifest_json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a manifest, for editors that check YAML while it is typed."""
    return Manifest.model_json_schema()
