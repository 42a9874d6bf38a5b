"""`python -m fuzzer`: run random cases for a while; exit code 1 if any fails."""

import argparse
import json
import secrets
import sys
import time
from pathlib import Path

from fuzzer.runner import CASES, TARGETS, fuzz, run_alone


def main() -> int:
    """Run the fuzzer and print counts."""
    parser = argparse.ArgumentParser(prog="fuzzer", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, help="default: a fresh one")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--targets", nargs="+", default=list(TARGETS))
    parser.add_argument("--cases", type=Path, default=CASES)
    parser.add_argument("--replay", nargs="+", type=Path, help="run these cases only")
    given = parser.parse_args()
    if given.replay:
        return _replay(given.replay)
    seed = secrets.randbelow(2**31) if given.seed is None else given.seed
    targets = tuple(name if "." in name else f"fuzzer.{name}" for name in given.targets)
    print(f"seed {seed}, {given.seconds:.0f} s of {', '.join(targets)}", flush=True)
    start = time.monotonic()
    tally = fuzz(targets, given.seconds, seed, given.workers, given.cases)
    taken = time.monotonic() - start
    for target, count in tally.cases.items():
        found = sum(name == target for name, _, _ in tally.findings)
        mean = 1000.0 * tally.seconds[target] / max(count, 1)
        print(f"{target:20} {count:9,} cases {found:6} findings, {mean:.0f} ms a case")
    total = sum(tally.cases.values())
    print(
        f"{'all':20} {total:9,} cases {len(tally.findings):6} findings; seed {seed}, "
        f"{total / given.seconds:.0f} per second, {taken:.0f} s with preparing, "
        f"{tally.restarts} restarts of workers"
    )
    if tally.broken:
        print(
            f"{tally.broken} of {given.workers} workers failed by a bug of the fuzzer"
        )
    return 1 if tally.findings or tally.broken else 0


def _replay(paths: list[Path]) -> int:
    failed = 0
    for path in paths:
        kept = json.loads(path.read_text(encoding="utf-8"))
        finding = run_alone(kept["target"], kept["case"])
        print(f"{path.name}: {finding or 'no finding'}")
        failed += finding is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
