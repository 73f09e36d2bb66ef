"""The head: what it learns from made-up layers, that it is the same each time, and that folds never leak into it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.applications.emotions import SHAPES, synthetic_items

from codec_superb.applications.er.head import train_head
from codec_superb.applications.er.head_store import FILE, Heads, folder_of, load_heads
from codec_superb.applications.er.training import is_trained, plan_training, train_heads
from codec_superb.applications.errors import MissingLabels, PredictionFailed
from codec_superb.applications.interface import Item

Array = NDArray[np.float32]
ITEMS = synthetic_items(takes=1)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep heads out of the user's folder."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path))


def layers_of(clip: str) -> Array:
    """Make up layers of a clip: noise, and in the second layer one dimension that says the emotion."""
    random = np.random.default_rng([*clip.encode()])
    layers = random.standard_normal((3, 6)).astype(np.float32)
    layers[1, next(number for number, name in enumerate(SHAPES) if name in clip)] += 4
    return layers


def trained(key: str, layers: object = layers_of) -> Heads:
    """Train and read back."""
    train_heads(plan_training(ITEMS), key, layers)  # type: ignore[arg-type]
    return load_heads(folder_of(key) / FILE)


def same(left: Heads, right: Heads) -> list[bool]:
    """Say of each fold whether the heads are the same bits."""
    return [
        all((getattr(a, name) == getattr(b, name)).all() for name in ("layers", "mean", "deviation", "matrix", "bias"))
        for a, b in zip(left.heads, right.heads, strict=True)
    ]


class TestHead:
    """One head."""

    @pytest.mark.parametrize("noise", [6e-8, 3e-7])
    def test_rounding_turns_no_class_over(self, noise: float) -> None:
        """Vectors of another processor, of dead units and of ten classes of which one has no clip: equal logits."""
        random = np.random.default_rng(1)
        targets = np.arange(18) % 9
        pooled = np.maximum(random.standard_normal((20, 1, 64)) + random.standard_normal((1, 1, 64)), 0)
        pooled[:, :, :16] = 1e-9 * random.standard_normal((20, 1, 16))
        pooled[19, :, :8] = 0.5  # alive on a clip that the head has not heard
        rounded = pooled * (1 + noise * random.standard_normal(pooled.shape))
        one, other = (train_head(each[:18].astype(np.float32), targets, 10) for each in (pooled, rounded))
        for clip in (18, 19):
            logits = one.logits(pooled[clip].astype(np.float32))
            assert np.abs(logits).max() < 40
            assert other.logits(rounded[clip].astype(np.float32)) == pytest.approx(logits, abs=1e-3)

    def test_it_finds_the_layer_and_the_classes(self) -> None:
        """Of three layers one tells four classes apart: it weighs most, and clips not seen are named rightly."""
        random = np.random.default_rng(0)
        targets = np.arange(48) % 4
        pooled = random.standard_normal((48, 3, 8)).astype(np.float32)
        pooled[np.arange(48), 2, targets] += 3
        head = train_head(pooled[:32], targets[:32], 4)
        assert head.layers.sum() == pytest.approx(1, abs=1e-5)
        assert int(head.layers.argmax()) == 2
        found = [int(head.probabilities(layers).argmax()) for layers in pooled[32:]]
        assert np.mean(np.array(found) == targets[32:]) > 0.7

    def test_it_is_what_torch_trains(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The same model, loss and optimiser written for torch's automatic gradients end at the same numbers."""
        import torch

        monkeypatch.setattr("codec_superb.applications.er.head.EPOCHS", 25)
        random = np.random.default_rng(1)
        targets = random.integers(0, 3, 20)
        pooled = (5 + 2 * random.standard_normal((20, 4, 6))).astype(np.float32)
        inputs = torch.from_numpy((pooled - pooled.mean(axis=0)) / pooled.std(axis=0)).double()
        parts = [torch.zeros(size, dtype=torch.float64, requires_grad=True) for size in ((4,), (3, 6), (3,))]
        optimiser = torch.optim.AdamW(parts, lr=0.003, weight_decay=0.01)
        for _ in range(25):
            optimiser.zero_grad()
            summed = (parts[0].softmax(dim=0)[None, :, None] * inputs).sum(dim=1)
            torch.nn.functional.cross_entropy(summed @ parts[1].T + parts[2], torch.from_numpy(targets)).backward()
            optimiser.step()
        head = train_head(pooled, targets, 3)
        assert head.matrix == pytest.approx(parts[1].detach().numpy(), abs=1e-4)
        assert head.bias == pytest.approx(parts[2].detach().numpy(), abs=1e-4)
        assert head.layers == pytest.approx(parts[0].softmax(dim=0).detach().numpy(), abs=1e-4)

    def test_a_dimension_without_variance_does_no_harm(self) -> None:
        """A constant dimension divides by nothing, and probabilities add up to one."""
        pooled = np.ones((8, 2, 3), np.float32)
        pooled[::2, :, 0] = 0
        answer = train_head(pooled, np.arange(8) % 2, 2).probabilities(pooled[0])
        assert answer.sum() == pytest.approx(1)
        assert answer[0] > 0.7


class TestFolds:
    """Heads of a dataset."""

    def test_a_clip_is_unknown_to_its_own_head_and_known_to_the_others(self) -> None:
        """Another sound of one clip changes all heads but that of the fold that holds it out, which stays as it was."""
        clip = ITEMS[7].clip
        plain = trained("plain")
        changed = trained("changed", lambda name: layers_of(name) + 5 * (name == clip))
        mine = plain.fold_of[clip]
        assert same(plain, changed) == [fold == mine for fold in range(5)]
        assert plain.for_clip(clip) is plain.heads[mine]
        assert plain.for_clip("elsewhere") is None

    def test_a_killed_training_goes_on_and_ends_the_same(self) -> None:
        """What is known of the first clips is not asked again; the heads are those of a training without a break."""
        asked: list[str] = []

        def dies(clip: str) -> Array:
            if len(asked) == 9:
                raise KeyboardInterrupt
            asked.append(clip)
            return layers_of(clip)

        def goes_on(clip: str) -> Array:
            assert clip not in asked
            asked.append(clip)
            return layers_of(clip)

        with pytest.raises(KeyboardInterrupt):
            trained("broken", dies)
        assert not is_trained("broken")
        broken = trained("broken", goes_on)
        assert asked == sorted(item.clip for item in ITEMS)
        assert all(same(broken, trained("whole")))
        assert sorted(path.name for path in folder_of("broken").iterdir()) == [".lock", FILE]

    def test_what_is_trained_is_not_trained_again(self) -> None:
        """A second call asks nothing."""

        def never(clip: str) -> Array:
            raise AssertionError(clip)

        assert all(same(trained("once"), trained("once", never)))

    def test_a_reference_that_cannot_be_read_is_not_trained_on(self) -> None:
        """It costs itself alone; where all fail, nothing is trained and the error says so."""

        def one_fails(clip: str) -> Array:
            if clip == ITEMS[0].clip:
                raise PredictionFailed("too short")
            return layers_of(clip)

        def all_fail(clip: str) -> Array:
            raise PredictionFailed(clip)

        partial, whole = trained("partial", one_fails), trained("whole")
        assert same(partial, whole) == [fold == whole.fold_of[ITEMS[0].clip] for fold in range(5)]
        with pytest.raises(MissingLabels, match="none of the references"):
            trained("nothing", all_fail)


class TestPlan:
    """What is trained, and its identity."""

    def test_the_identity_is_that_of_model_clips_and_labels(self) -> None:
        """The order of clips does not count; another model, another label, one clip less do."""
        key = plan_training(ITEMS).key("a")
        relabelled = [*ITEMS[1:], Item(ITEMS[0].clip, "speech", emotion="sadness", extra=ITEMS[0].extra)]
        assert plan_training(ITEMS[::-1]).key("a") == key
        assert (
            len(
                {
                    key,
                    plan_training(ITEMS).key("b"),
                    plan_training(relabelled).key("a"),
                    plan_training(ITEMS[1:]).key("a"),
                }
            )
            == 4
        )

    def test_other_emotions_take_no_part(self) -> None:
        """Frustration is none of the four; excitement is happiness."""
        task = plan_training([*ITEMS, Item("x", "speech", emotion="frustration", extra=ITEMS[0].extra)])
        assert "x" not in task.class_of
        assert task.class_of["Session1/excitement_0"] == "happiness"

    @pytest.mark.parametrize("emotions", [["anger"] * 4, ["calm", "surprise"], []])
    def test_fewer_than_two_classes_are_an_error(self, emotions: list[str]) -> None:
        """There is nothing to tell apart; the error says what was there."""
        items = [Item(f"c{i}", "speech", emotion=emotion) for i, emotion in enumerate(emotions)]
        with pytest.raises(MissingLabels, match="expected clips of at least two of anger, happiness, neutral, sadness"):
            plan_training(items)

    def test_a_fold_that_leaves_one_class_is_an_error(self) -> None:
        """Each speaker has one emotion: without the other nothing is left to tell apart."""
        items = [
            Item(f"{name}{i}", "speech", speaker=name, emotion=name) for name in ("anger", "sadness") for i in (1, 2)
        ]
        with pytest.raises(MissingLabels, match="without one speaker of 2"):
            plan_training(items)
