"""List conditions of the C++ sources of which the tests have seen one outcome only.

Reads a report of gcovr in JSON, and the sources. A condition is an operand of the `&&`
and `||` of an `if` or `while`; those of `?:`, `return a && b`, loops of `for` and
`switch` are not looked at. An outcome has been seen if any instance of a template
had it. Left out are assertions, which are statements that throw if the condition holds,
checks of sanitizers, and lines marked with GCOVR_EXCL_BR_LINE.

    python tools/conditions.py REPORT.json
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
START = re.compile(r"\b(?:if|while) \(")
ASSERTION = re.compile(r"\bthrow |\brequire")


def lines_of_conditions(source: str) -> set[int]:
    """Return the numbers of the lines with conditions, except those of assertions."""
    code = re.sub(r"//.*", "", source)
    found: set[int] = set()
    for start in START.finditer(code):
        end, depth = start.end(), 1
        while depth > 0:
            depth += {"(": 1, ")": -1}.get(code[end], 0)
            end += 1
        if not ASSERTION.search(code, end, code.index(";", end)):
            first, last = (code.count("\n", 0, at) + 1 for at in (start.start(), end))
            found.update(range(first, last + 1))
    return found


def outcomes_of(branches: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """Return how often each condition of a line had each of its outcomes."""
    pairs: list[tuple[int, int]] = []
    left = [branch for branch in branches if not branch.get("gcovr/excluded")]
    while len(left) > 1:
        one, other = left[:2]
        # Jumps from one place, or one and its absence; calls that may throw have one.
        if (
            one.get("source_block_id") == other.get("source_block_id")
            and not other["fallthrough"]
        ):
            pairs.append((one["count"], other["count"]))
            del left[0]
        del left[0]
    # An operand that was never reached is missing because of the one before it.
    reached = [pair for pair in pairs if any(pair)]
    # Nobody jumps to the report of a sanitizer; all reach the condition after it.
    return [
        pair
        for pair, after in pairwise([*reached, (-1, 0)])
        if not (pair[0] == 0 and pair[1] == sum(after))
    ]


def all_seen(instances: Sequence[Sequence[tuple[int, int]]]) -> bool:
    """Return whether each condition had both outcomes in instances of a template.

    Instances with different numbers of conditions cannot be compared: those with one of
    these numbers suffice.
    """
    alike: dict[int, list[list[int]]] = defaultdict(list)
    for pairs in instances:
        alike[len(pairs)].append([count for pair in pairs for count in pair])
    return any(all(map(any, zip(*group, strict=True))) for group in alike.values())


def one_sided(report: Mapping[str, Any], root: Path) -> Iterator[str]:
    """Yield the place and text of each condition with one outcome only."""
    for file in report["files"]:
        source = (root / file["file"]).read_text(encoding="utf-8")
        instances: dict[int, list[list[tuple[int, int]]]] = defaultdict(list)
        for line in file["lines"]:
            if outcomes := outcomes_of(line["branches"]):
                instances[line["line_number"]].append(outcomes)
        lines = source.splitlines()
        for number in sorted(instances.keys() & lines_of_conditions(source)):
            if not all_seen(instances[number]):
                yield f"{file['file']}:{number}: {lines[number - 1].strip()}"


def main() -> int:
    """List the conditions; return the exit code."""
    report = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    found = list(one_sided(report, ROOT))
    for place in found:
        print(f"error: only one outcome was tested: {place}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
