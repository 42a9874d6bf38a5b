"""Run learners on streams, resume stopped runs, and print the tables.

    cd benchmarks
    python -m evidence run --packages FOLDER [--parts field ...]
    python -m evidence run --data FOLDER --files FOLDER --long [FOLDER ...]
    python -m evidence show [--figures FOLDER]
    python -m evidence cost --packages FOLDER
    python -m evidence versions --other PYTHON [--results FILE] [--data FOLDER ...]

`--packages` holds the archives of the packages that `evidence.packages` names;
generated streams are stored there. `--data` holds the paper's datasets as NAME.csv.gz,
`--files` and `--long` hold NAME.npz with X and y. Results, one line of JSON for each
stream, learner and seed, are appended to `--results`; finished runs are not repeated.
LightGBM and the learners of River and CapyMOA run if they are installed. A learner that
has used `--minutes` of processor time on a stream is stopped, and its record covers the
rows until then; with more minutes it runs again. `--until` ends a run at a time of day,
and records how far the learner got. `versions` runs the pooled classifier of this
version and of another one, in the environment of `--other`, where results are missing;
then it prints the ratios of their errors. Of each dataset it takes `--rows`.
"""

import argparse
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from datetime import time as clock
from pathlib import Path
from typing import Any

from evidence import versions
from evidence.cost import print_costs
from evidence.learners import CAPYMOA, PARTS, SEEDED, Make, learners
from evidence.measuring import forked, measure
from evidence.sources import Source, sources
from evidence.tables import show

#: Rows beyond which CapyMOA's learners, which take long, are not run on held-out data.
_MOST = 2500
#: Fields of a record that are not printed: one number for each block.
_LONG = ("wrong", "losses")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=("run", "show", "cost", "versions"))
    parser.add_argument("--packages", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--files", type=Path)
    parser.add_argument("--long", type=Path, nargs="*")
    parser.add_argument("--results", type=Path, default=Path("evidence.jsonl"))
    parser.add_argument("--figures", type=Path, help="where charts are written")
    parser.add_argument("--parts", nargs="*", help="only these")
    parser.add_argument("--streams", nargs="*", help="only these")
    parser.add_argument("--learners", nargs="*", help="only these")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--until", type=clock.fromisoformat, help="end at HH:MM today")
    parser.add_argument("--other", help="interpreter of another version")
    parser.add_argument("--rows", type=int, default=20_000)
    return parser


def main() -> None:
    """Run, show, or measure costs, depending on the command line."""
    options = _parser().parse_args()
    if options.action == "show":
        show(read(options.results), options.figures)
    elif options.action == "cost":
        print_costs(options.packages, options.streams)
    elif options.action == "versions":
        compare_versions(options)
    else:
        run(options)


def run(options: argparse.Namespace) -> None:
    """Run missing cases, CapyMOA's learners last, in one process.

    Java then compiles frequently called code once for all of them. Every other learner
    has a separate process.
    """
    known = learners()
    wanted = [name for name in known if name in (options.learners or known)]
    java = [name for name in wanted if name in CAPYMOA]
    run_group([name for name in wanted if name not in java], known, options, forked)
    run_group(java, known, options, lambda function, *rest: function(*rest))


def compare_versions(options: argparse.Namespace) -> None:
    """Run two versions, if the other one is given, and print the differences."""
    if options.other:
        versions.compare(
            (options.packages, options.data, options.files, options.long),
            options.other,
            options.results,
            options.seeds,
            options.rows,
            options.parts,
            options.streams,
        )
    versions.show(versions.read(options.results))


def run_group(
    group: Sequence[str],
    known: Mapping[str, Make],
    options: argparse.Namespace,
    call: Callable[..., Any],
) -> None:
    """Run learners, seed after seed, so that all streams have as many."""
    until = math.inf
    if options.until is not None:
        until = datetime.combine(date.today(), options.until).timestamp()
    for source, seed in _wanted(options):
        names = [
            name
            for name in PARTS[source.part]
            if name in group
            if seed == 0 or name in SEEDED[source.part]
        ]
        done = _done(options)
        if all((source.part, source.name, name, seed) in done for name in names):
            continue
        X, y = source.rows(seed)
        for name in names:
            # Another process may have run it in the meantime.
            if (source.part, source.name, name, seed) in _done(options):
                continue
            if source.part == "held out" and name in CAPYMOA and len(y) > _MOST:
                continue
            record = {
                "part": source.part,
                "stream": source.name,
                "learner": name,
                "seed": seed,
                **call(measure, known[name], X, y, seed, options.minutes, until),
            }
            with options.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
            shown = {key: record[key] for key in record if key not in _LONG}
            print(*shown.values(), flush=True)


def _wanted(options: argparse.Namespace) -> Iterator[tuple[Source, int]]:
    found = sources(options.packages, options.data, options.files, options.long)
    for seed in range(options.seeds):
        for source in found:
            if options.parts and source.part not in options.parts:
                continue
            if options.streams and source.name not in options.streams:
                continue
            yield source, seed


def read(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file, the latest of each run; none without a file."""
    if not path.exists():
        return []
    lines = path.read_text("utf-8").splitlines()
    return list({key(record): record for record in map(json.loads, lines)}.values())


def _done(options: argparse.Namespace) -> set[tuple[Any, ...]]:
    return {
        key(record)
        for record in read(options.results)
        if record["rows"] == record["of"] or record["minutes"] >= options.minutes
    }


def key(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the key of a record."""
    return tuple(record[name] for name in ("part", "stream", "learner", "seed"))


if __name__ == "__main__":
    main()
