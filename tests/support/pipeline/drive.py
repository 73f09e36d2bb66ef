"""A stage in a process of its own, which a test can kill: ``python drive.py '{"stage": "resynth", ...}'``.

Prints ``started`` when a run begins and ``advanced`` after every clip. Exit code 1 and
the text on an error that a user can act on.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def start(**order: Any) -> subprocess.Popen[str]:
    """Start a stage in a process group of its own."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.Popen(
        command(**order),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )


def command(**order: Any) -> list[str]:
    """Give the command line of a stage."""
    return [sys.executable, __file__, json.dumps(order)]


class _Announcing:
    """Tells the test that work begins."""

    def start(self, title: str, total: int, done: int = 0) -> None:
        """Say so."""
        print("started", title, total, done, flush=True)

    def advance(self, count: int = 1) -> None:
        """Say so."""
        print("advanced", flush=True)

    def message(self, text: str) -> None:
        """Pass it on."""
        print("message", text, flush=True)


def main(order: dict[str, Any]) -> int:
    """Do what was ordered; each stage imports what it needs, since many processes are started and killed."""
    from codec_superb.pipeline.errors import PipelineError

    if "file_limit" in order:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (order["file_limit"], resource.RLIM_INFINITY))
    out, workers = Path(order["out"]), order.get("workers", 2)
    outcomes: Sequence[Any]
    try:
        if "executor" in order:
            from codec_superb.pipeline.resynthesis.stage import resynthesise
            from codec_superb.pipeline.workers.executors import open_executor

            with open_executor(order["executor"], None, tell=_Announcing().message) as pool:
                outcomes = resynthesise(
                    order["codecs"], order["datasets"], out=out, progress=_Announcing(), executor=pool
                )
        elif order["stage"] == "resynth":
            from codec_superb.pipeline.conditions.record import parse_condition
            from codec_superb.pipeline.resynthesis.stage import resynthesise
            from codec_superb.pipeline.runs.shard import Shard

            outcomes = resynthesise(
                order["codecs"], order["datasets"], out=out, workers=workers, batch=order.get("batch"),
                conditions=[parse_condition(name) for name in order.get("conditions", ())], progress=_Announcing(),
                shard=Shard.parse(order["shard"]) if "shard" in order else None,
            )  # fmt: skip
        elif order["stage"] == "probe":
            from support.pipeline.probe import install

            from codec_superb.pipeline.probing.stage import probe

            install()
            outcomes = probe(
                [out], applications=order["applications"], backends=order["backends"], workers=workers,
                tasks=[Path(place) for place in order.get("tasks", ())], budget=order.get("budget"),
                progress=_Announcing(),
            )  # fmt: skip
        elif order["stage"] == "merge":
            from codec_superb.pipeline.merging import joining
            from codec_superb.pipeline.merging.stage import merge

            joining.IN_WORKERS = order.get("in_workers", joining.IN_WORKERS)
            outcomes = merge([out], workers=workers, progress=_Announcing())
        elif order["stage"] == "embed":
            from support.pipeline.text_encoders import embed

            embed(order, _Announcing())
            return 0
        else:
            from codec_superb.pipeline.scoring.stage import score

            outcomes = score([out], metrics=order["metrics"], workers=workers, progress=_Announcing())
    except PipelineError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0 if all(outcome.complete for outcome in outcomes) else 3


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
