"""The meters count what colleagues' code tells them, each application for itself."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from codec_superb.server.database.session import make_engine
from codec_superb.server.operations.meters import Meters, meters


def _samples(counted: Meters) -> dict[str, float]:
    lines = counted.exposition().decode().splitlines()
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if not line.startswith("#")}


def test_everything_is_counted() -> None:
    """Each method changes its own sample, and nothing else of ours."""
    counted = Meters()
    counted.upload("accepted")
    counted.upload("refused")
    with pytest.raises(ZeroDivisionError), counted.checking():
        raise ZeroDivisionError
    with counted.snapshot():
        pass
    counted.cache("leaderboard", hit=True)
    counted.cache("leaderboard", hit=False)
    with counted.waiting(), counted.waiting():
        assert _samples(counted)["codec_superb_checks_waiting"] == 2
    samples = _samples(counted)
    assert samples['codec_superb_uploads_total{outcome="accepted"}'] == 1
    assert samples['codec_superb_uploads_total{outcome="refused"}'] == 1
    assert samples['codec_superb_check_seconds_bucket{le="5.0"}'] == 1
    assert samples["codec_superb_checks_waiting"] == 0
    assert samples["codec_superb_snapshot_seconds_count"] == 1
    assert samples['codec_superb_cache_total{cache="leaderboard",result="hit"}'] == 1
    assert samples['codec_superb_cache_total{cache="leaderboard",result="miss"}'] == 1


def test_applications_count_apart() -> None:
    """Two applications in one process do not see each other's counts, and ``meters`` finds the own ones."""
    one, other = (SimpleNamespace(state=SimpleNamespace(meters=Meters())) for _ in range(2))
    with meters(one).snapshot():
        pass
    assert _samples(meters(one))["codec_superb_snapshot_seconds_count"] == 1
    assert _samples(meters(other))["codec_superb_snapshot_seconds_count"] == 0


def test_connections_are_followed(tmp_path: Path) -> None:
    """Connections in use go up and down; opened ones only up."""
    counted, engine = Meters(), make_engine(f"sqlite:///{tmp_path / 'x.sqlite'}")
    counted.watch(engine)
    with engine.connect(), engine.connect():
        assert _samples(counted)["codec_superb_database_connections"] == 2
    assert _samples(counted)["codec_superb_database_connections"] == 0
    assert _samples(counted)["codec_superb_database_opened_total"] == 2
    engine.dispose()


def test_the_process_is_described() -> None:
    """Memory and open files of the process are among the samples."""
    samples = _samples(Meters())
    assert samples["process_resident_memory_bytes"] > 1e6
    assert samples["process_open_fds"] > 3
