"""Mutation testing of a seeded sample of mutants in each folder; counts those that tests detect: `make mutants`.

mutmut makes the mutants, finds the tests that reach each function, forks one process a mutant with a time limit, and
keeps every verdict in ``mutants/``, so that a killed run goes on where it was. It has no sampling and no count by
folder, and runs the tests of a mutant in any order: the sample, the table and cheap tests first are here. Settings are
in ``[tool.mutmut]`` of ``pyproject.toml``, reasons in ``docs/testing.md``.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import signal
from collections import Counter
from typing import Any

import mutmut.__main__ as mutmut
from mutmut.state import state
from mutmut.stats import status_by_exit_code

AREAS = ("metrics", "pipeline.statistics", "pipeline.aggregates", "pipeline.submission", "server.ingest")
NOTICED = ("killed", "timeout", "segfault")
"""A mutant that never ends, or that ends the interpreter, is noticed too."""
status_by_exit_code[-signal.SIGABRT] = "segfault"  # as the C library ends a program that wrote beyond its memory
Z = 1.959964
"""97.5 % point of the normal distribution."""


def sample(names: list[str], number: int | None, seed: int) -> list[str]:
    """Draw ``number`` of ``names``, all where it is None; a larger sample of a seed holds the smaller ones."""
    return sorted(names, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())[:number]


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a proportion (Wilson, 1927)."""
    centre, margin = hits + Z**2 / 2, Z * math.sqrt(hits * (n - hits) / n + Z**2 / 4)
    return (centre - margin) / (n + Z**2), (centre + margin) / (n + Z**2)


def area_of(name: str) -> str:
    """Return the folder that a mutant's name belongs to."""
    return next(area for area in AREAS if name.startswith(f"codec_superb.{area}."))


def report(verdicts: dict[str, int | None]) -> None:
    """Print the counts by folder, and the names of undetected mutants."""
    heads = "".join(f"{head:>9}" for head in ("mutants", "killed", "timeout", "survived", "no test"))
    print(f"\n{'folder':22}{heads}  noticed  95 % interval")
    for area in AREAS:
        found = [status_by_exit_code[code] for name, code in verdicts.items() if area_of(name) == area]
        counts = Counter("killed" if status == "segfault" else status for status in found if status != "not checked")
        n, noticed = counts.total(), sum(counts[status] for status in NOTICED)
        low, high = wilson(noticed, n) if n else (0.0, 1.0)
        columns = (n, *(counts[status] for status in ("killed", "timeout", "survived", "no tests")))
        line = "".join(f"{count:9}" for count in columns)
        print(f"{area.replace('.', '/'):22}{line}  {noticed / max(n, 1):7.1%}  [{low:.1%}, {high:.1%}]")
    for name, code in sorted(verdicts.items()):
        if status_by_exit_code[code] not in (*NOTICED, "not checked"):
            print(f"  {status_by_exit_code[code]:12} {name}")
    print("mutmut show NAME prints what was changed.")


def main() -> None:
    """Run the sample, then print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", default="100", help="how many in each folder, or `all`")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--report", action="store_true", help="run nothing, print the verdicts that are there")
    options = parser.parse_args()
    number = None if options.mutants == "all" else int(options.mutants)
    everything, collect_stats = mutmut.collect_source_file_mutation_data, mutmut.collect_or_load_stats

    def sampled(*, mutant_names: tuple[str, ...] = ()) -> tuple[list[tuple[Any, str, int | None]], dict[str, Any]]:
        """Stand in for mutmut's own list of mutants, which knows names and patterns but no sample."""
        mutants, files = everything(mutant_names=mutant_names)
        names = [[name for _, name, _ in mutants if area_of(name) == area] for area in AREAS]
        chosen = {name for area in names for name in sample(area, number, options.seed)}
        return [mutant for mutant in mutants if mutant[1] in chosen], files

    def cheapest_first(*runner: Any, **options: Any) -> None:
        """Find which tests reach which function, then order them: most mutants fall to a test of milliseconds."""
        collect_stats(*runner, **options)
        tests_of, seconds = state().tests_by_mangled_function_name, state().duration_by_test
        for function, tests in tests_of.items():
            tests_of[function] = sorted(tests, key=lambda test: (seconds[test], test))

    mutmut.collect_source_file_mutation_data = sampled
    mutmut.collect_or_load_stats = cheapest_first
    if not options.report:
        mutmut._run((), options.jobs)  # noqa: SLF001 - the command `mutmut run`, without its reading of the arguments
    report({name: code for _, name, code in sampled()[0]})


if __name__ == "__main__":
    main()
