"""Stages on Ray that ask several models or decoders, and machines that an autoscaler starts."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import ray.util
import soundfile
from support.applications.xares import ENCODER, write_decoder
from support.codecs.checkpoints import checkpoint
from support.pipeline.ray_nodes import RayNodes
from support.pipeline.run_codecs import HERE
from support.pipeline.runs import contents, noise
from support.shards import flac, write_shard
from support.timing import wait_for
from typer.testing import CliRunner

from codec_superb.cli.app import app
from codec_superb.pipeline.precision import Variant, measure_precision
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.workers.executors import open_executor

pytestmark = [pytest.mark.slow, pytest.mark.sample(1, among="what Ray does")]
CODEC = "encodec_24k_6bps"
LISTS = (
    "initialization_commands", "setup_commands", "head_setup_commands", "worker_setup_commands", "rsync_filter",
    "head_start_ray_commands", "worker_start_ray_commands", "cluster_synced_files", "rsync_exclude",
)  # fmt: skip


@pytest.fixture(scope="module")
def nodes() -> Iterator[RayNodes]:
    """Give a cluster of two machines with one core each, beside a head without any."""
    with RayNodes() as nodes:
        nodes.add()
        nodes.add()
        yield nodes


def test_precisions_are_those_of_one_machine(tmp_path: Path, nodes: RayNodes) -> None:
    """Rows, sound, tokens, failures and every difference, whichever machine had which clip."""
    folder = tmp_path / "clips"
    folder.mkdir()
    for number in range(3):
        soundfile.write(folder / f"{number}.wav", noise(9000 + 500 * number, seed=number), 24000)
    (folder / "none.wav").write_bytes(b"no sound")

    def measured(executor: str, out: Path) -> dict[str, Any]:
        with open_executor(executor, 2) as pool:
            report = measure_precision(
                CODEC, [Variant("bfloat16")], [str(folder)], out=out, weights=str(checkpoint("encodec")), device="cpu",
                metrics=("mel", "si_sdr"), executor=pool, category="audio",
            )  # fmt: skip
        (half,) = report.variants
        assert half.speed is not None
        return report.model_copy(update={"variants": (half.model_copy(update={"speed": None}),)}).model_dump()

    here, there = tmp_path / "here", tmp_path / "there"
    assert measured(f"ray:{nodes.address}", there) == measured("processes", here)
    for variant in ("float32", "bfloat16"):
        assert contents(there / variant / CODEC / "clips") == contents(here / variant / CODEC / "clips")


def test_answers_of_trained_decoders_are_those_of_one_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nodes: RayNodes
) -> None:
    """``xares run`` with two decoders: figures, each seed's values, and every answer that is kept."""
    for part, first in (("train", 0), ("test", 100)):
        sounds = [
            (f"{name}{number}", flac(0.4, seed=first + number, hertz=hertz * (1 + number / 100)), {"genre": name})
            for name, hertz in (("rock", 400.0), ("jazz", 1800.0))
            for number in range(6)
        ]
        write_shard(tmp_path / f"data/GTZAN/{part}/gtzan_fold_9_0000000.tar.gz", sounds)
    task = {"weight": 1, "fields": ["genre"], "shards": ["GTZAN/train/*.tar.gz"], "classes": 2}
    decoder = str(write_decoder(tmp_path, steps=12, new_tokens=12))
    track = {"track": "own", "title": "Own", "decoder": decoder, "tasks": {"xares_gtzan": task}}
    (tmp_path / "track.yaml").write_text(json.dumps(track))

    def tried(executor: str, home: Path) -> tuple[object, object]:
        monkeypatch.setenv("CODEC_SUPERB_HOME", str(home))
        call = [
            "xares", "run", "--encoder", ENCODER, "--track", str(tmp_path / "track.yaml"), "--seed", "1", "--seed", "2",
            "--data", str(tmp_path / "data"), "--workers", "2", "--executor", executor, "--json",
        ]  # fmt: skip
        found = CliRunner().invoke(app, call, catch_exceptions=False)
        assert found.exit_code == 0, found.output
        kept = sorted((home / "predictions").rglob("*.jsonl"))
        assert kept
        answers = {str(file.relative_to(home)): sorted(file.read_text().splitlines()) for file in kept}
        return json.loads(found.stdout), answers

    there = tmp_path / "there"
    nodes.add(resources={"home": 1}, env_vars={"CODEC_SUPERB_HOME": str(there)})
    assert tried(f"ray:{nodes.address},resources.home=1", there) == tried("processes", tmp_path / "here")


def test_an_autoscaler_adds_machines_for_the_actor_that_waits_and_takes_them_away(
    tmp_path: Path,
) -> None:
    """A run begins on a head without cores; rows are those of one machine, and idle machines go again."""
    folder = tmp_path / "clips"
    folder.mkdir()
    for number in range(6):
        soundfile.write(folder / f"{number}.wav", noise(4000 + 100 * number, seed=number), 16000)

    def made(executor: str, out: Path) -> Path:
        with open_executor(executor, None) as pool:
            (outcome,) = resynthesise([f"{HERE}:Unhurried"], [str(folder)], out=out, category="speech", executor=pool)
        assert outcome.complete
        return outcome.path

    with _autoscaling() as (address, machines):
        assert machines() == 0
        there = made(f"ray:{address}", tmp_path / "there")
        assert machines() in {1, 2}
        wait_for(lambda: machines() == 0, "idle machines stay")
    assert contents(there) == contents(made("processes", tmp_path / "here"))


@contextmanager
def _autoscaling() -> Iterator[tuple[str, Callable[[], int]]]:
    """Start a head without cores that starts machines of one core on this one; yield its address, and their number.

    This is what ``ray.cluster_utils.AutoscalingCluster`` does, which lacks a file in Ray's wheel, and ends every other
    Ray of the machine.
    """
    with socket.socket() as free:
        free.bind(("", 0))
        address = f"{ray.util.get_node_ip_address()}:{free.getsockname()[1]}"
    kinds = {
        "head": {"resources": {"CPU": 0}, "node_config": {}, "max_workers": 0},
        "machine": {"resources": {"CPU": 1, "object_store_memory": 80_000_000}, "node_config": {}, "max_workers": 2},
    }
    provider = {
        "type": "fake_multinode", "gcs_address": address, "use_node_id_as_ip": True, "disable_node_updaters": True
    }  # fmt: skip
    says = {
        "cluster_name": "autoscaling", "max_workers": 2, "idle_timeout_minutes": 0.1, "docker": {}, "auth": {},
        "provider": provider, "available_node_types": kinds, "head_node_type": "head", "head_node": {},
        "file_mounts": {}, "file_mounts_sync_continuously": False, **{name: [] for name in LISTS},
    }  # fmt: skip
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "RAY_AUTH_MODE": "disabled",
        "RAY_FAKE_CLUSTER": "1", "AUTOSCALER_UPDATE_INTERVAL_S": "1", "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_gcs_rpc_server_reconnect_timeout_s": "5",  # seconds after which machines end that have lost their head
    }  # fmt: skip
    call = [sys.executable, "-c", "from ray.scripts.scripts import main; main()"]

    def machines() -> int:
        done = subprocess.run(
            [*call, "status", f"--address={address}"], env=environment, capture_output=True, text=True, check=True
        )
        return sum(int(count) for count in re.findall(r"^ (\d+) machine$", done.stdout, re.MULTILINE))

    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as place:
        (Path(place) / "cluster.json").write_text(json.dumps(says))
        (Path(place) / "ray").mkdir()
        head = subprocess.Popen(
            [*call, "start", "--head", "--block", f"--port={address.rpartition(':')[2]}", "--num-cpus=0",
             "--object-store-memory=80000000", "--include-dashboard=false", "--dashboard-agent-listen-port=0",
             f"--temp-dir={place}", f"--autoscaling-config={place}/cluster.json"],
            env=environment | {"RAY_TMPDIR": place}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        )  # fmt: skip
        try:
            assert head.stdout is not None
            said = list[str]()
            while not any("Ray runtime started" in line for line in said):
                said.append(head.stdout.readline())
                assert said[-1], "".join(said)
            yield address, machines
        finally:
            head.terminate()  # which ends all that it has started
            head.communicate()
