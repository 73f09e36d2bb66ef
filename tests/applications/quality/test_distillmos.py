"""DistillMOS against the package whose weights it loads, and what it does with short and long clips."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from support.applications.quality import RATE, Samples, clean, importable, muffled, noisy, package, sound

from codec_superb.applications.errors import ApplicationError, MissingModel, PredictionFailed
from codec_superb.applications.model_files import embedded_models
from codec_superb.applications.quality.distillmos import SEGMENT, DistillMos, segments
from codec_superb.data_manifests.manifest import PackageFile

pytestmark = pytest.mark.network

XLS_R_SQA = PackageFile(
    project="xls-r-sqa",
    version="0.1.0",
    filename="xls_r_sqa-0.1.0-py3-none-any.whl",
    sha256="7ed4587df6f46879bc4ad8773cc58fef80169d809edd5dab63bd9021b1355f0f",
    size=15356856,
)
"""Holds the code of the transformer that the package distillmos builds on."""


@pytest.fixture(scope="module")
def backend() -> DistillMos:
    """Return DistillMOS, loaded once."""
    made = DistillMos()
    made.load(made.prepare(), "cpu", 1)
    return made


def opinion(backend: DistillMos, samples: Samples) -> float:
    """Return what it says of one clip."""
    (answer,) = backend.predict([sound(samples)])
    assert isinstance(answer, np.ndarray)
    assert answer.shape == (1,)
    return float(answer[0])


@pytest.mark.sample(2, among="models of listening quality")
def test_scores_equal_those_of_the_package(backend: DistillMos) -> None:
    """The package's own network, run from its files, says the same to 1e-4 for short, exact and long clips."""
    folder = backend.prepare().path
    assert folder is not None
    with importable(package(embedded_models()["distillmos"].file), package(XLS_R_SQA), without=("torchaudio",)):
        from distillmos.sqa import ConvTransformerSQAModel

        theirs = ConvTransformerSQAModel(load_weights=False).eval()
    theirs.load_state_dict(torch.load(folder / "distill_mos_v7.pt", weights_only=True)["model"])
    for samples in (clean(2.0), noisy(SEGMENT / RATE), muffled(8.0)):
        with torch.inference_mode():
            expected = float(theirs(torch.from_numpy(samples)[None]))
        assert opinion(backend, samples) == pytest.approx(expected, abs=1e-4)


@pytest.mark.sample(2, among="models of listening quality")
def test_worse_sound_scores_lower(backend: DistillMos) -> None:
    """Clean read speech is above 3.3, without what lies above 4 kHz it is lower, in noise lowest."""
    good, dull, bad = (opinion(backend, made(7.0)) for made in (clean, muffled, noisy))
    assert good > 3.3
    assert good > dull > bad
    assert bad < 1.6


@pytest.mark.sample(2, among="models of listening quality")
def test_answers_do_not_depend_on_the_batch(backend: DistillMos) -> None:
    """A clip gets the same score to the last bit alone and among others."""
    clips = [clean(1.0), noisy(7.8)]
    together = backend.predict([sound(samples) for samples in clips])
    assert [float(np.asarray(answer)[0]) for answer in together] == [opinion(backend, samples) for samples in clips]


@pytest.mark.sample(2, among="what opinions depend on")
def test_level_does_not_count_and_no_sound_has_no_score(backend: DistillMos) -> None:
    """A quieter copy scores the same; a clip without samples costs itself alone."""
    assert opinion(backend, 0.1 * clean(3.0)) == pytest.approx(opinion(backend, clean(3.0)), abs=1e-3)
    (empty,) = backend.predict([sound(np.zeros(0, np.float32))])
    assert isinstance(empty, PredictionFailed)


@pytest.mark.parametrize(("count", "starts"), [(1, [0]), (SEGMENT, [0]), (SEGMENT + 1, [0, 1]),
                                               (SEGMENT + 32_000, [0, 16_000, 32_000])])  # fmt: skip
def test_segments_cover_the_clip(count: int, starts: list[int]) -> None:
    """Segments begin at the start, end at the end, and lie at most a second apart."""
    cut = segments(torch.arange(count, dtype=torch.float32))
    assert cut.shape == (len(starts), SEGMENT)
    assert cut[:, 0].tolist() == starts
    assert cut[-1, min(count, SEGMENT) - 1] == count - 1


def test_model_is_named_and_found(tmp_path: Path) -> None:
    """A folder may hold the weights; one that does not, and a variant, are refused with what to do."""
    model = DistillMos().prepare()
    assert model.path is not None
    assert DistillMos(weights=model.path).prepare() == model
    with pytest.raises(MissingModel, match=r"no file distill_mos_v7\.pt in .*package distillmos 0\.9\.1"):
        DistillMos(weights=tmp_path).prepare()
    with pytest.raises(ApplicationError, match="no variants, got 'v8'"):
        DistillMos("v8").prepare()
