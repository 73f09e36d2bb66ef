"""What becomes of uploads is counted where maintainers see it."""

from __future__ import annotations

from support.server.ingest import Service, drawn

from codec_superb.server.operations.meters import meters


def _counts(service: Service) -> dict[str, float]:
    lines = meters(service.client.app).exposition().decode().splitlines()
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("codec_superb")}


def test_uploads_by_outcome(service: Service) -> None:
    """A good file, the same again and a bad one are counted apart, and a check is timed for each file that is new."""
    before = _counts(service)
    answers = [service.send(data).status_code for data in (drawn("count_16k"), drawn("count_16k"), b"no zip")]
    assert answers == [201, 200, 422]
    after = _counts(service)
    for outcome in ("accepted", "known", "refused"):
        name = f'codec_superb_uploads_total{{outcome="{outcome}"}}'
        assert after[name] - before.get(name, 0) == 1
    checks = "codec_superb_check_seconds_count"
    assert after[checks] - before[checks] == 2
    assert after["codec_superb_checks_waiting"] == 0
    assert after["codec_superb_snapshot_seconds_count"] > before["codec_superb_snapshot_seconds_count"]
