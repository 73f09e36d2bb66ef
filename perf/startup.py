"""What starting costs: processor time of help and of short commands, in bare interpreters (``python -c pass``).

``python perf/startup.py``: the least of several starts of each, in turns, so that other work slows all alike. Exit
code 1 when help costs more than 20 bare interpreters.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys

ALLOWED = 20.0
RUN = "from codec_superb.cli.main import run; run()"
BARE, ISOLATED = "python -c pass", "python -I -S -c pass"
STARTS = {
    BARE: ["-c", "pass"],
    ISOLATED: ["-I", "-S", "-c", "pass"],
    "import codec_superb": ["-c", "import codec_superb"],
    "import typer": ["-c", "import typer"],
    "import pydantic": ["-c", "import pydantic; pydantic.BaseModel"],
    "import numpy": ["-c", "import numpy"],
    "--version": ["-c", RUN, "--version"],
    "--help": ["-c", RUN, "--help"],
    "bench --help": ["-c", RUN, "bench", "--help"],
    "admin token --help": ["-c", RUN, "admin", "token", "--help"],
    "metrics list": ["-c", RUN, "metrics", "list"],
    "codecs list": ["-c", RUN, "codecs", "list"],
    "datasets list": ["-c", RUN, "datasets", "list"],
}


def processor_seconds(arguments: list[str]) -> float:
    """Start an interpreter and return the processor time of it and of all processes that it waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="starts of each")
    rounds = parser.parse_args().rounds
    taken = [{name: processor_seconds(arguments) for name, arguments in STARTS.items()} for _ in range(rounds)]
    least = {name: min(one[name] for one in taken) for name in STARTS}
    print("| start | ms | bare interpreters | with -I -S |\n|---|---|---|---|")
    for name, seconds in least.items():
        print(f"| `{name}` | {seconds * 1000:.1f} | {seconds / least[BARE]:.1f} | {seconds / least[ISOLATED]:.1f} |")
    helps = [name for name in STARTS if name.endswith("--help")]
    return int(any(least[name] > ALLOWED * least[BARE] for name in helps))


if __name__ == "__main__":
    sys.exit(main())
