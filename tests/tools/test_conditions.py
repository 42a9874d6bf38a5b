"""The tool that lists conditions of the C++ sources with one outcome only."""

from pathlib import Path
from typing import Any

import pytest

from conditions import lines_of_conditions, one_sided, outcomes_of

SOURCE = """\
int f(int a, int b) {
  if (a < 0) throw std::invalid_argument("a is negative");
  if (a > 1 &&  // not if (b < 0)
      (b > 1 || a > b)) {
    return 1;
  }
  for (int i = 0; i < a; ++i) ++b;
  while (b > 0) --b;
  if (b > 9) {
    throw std::invalid_argument("b is large");
  }
  return b;
}
"""


def branches(*outcomes: tuple[int, int]) -> list[dict[str, Any]]:
    return [
        {"count": count, "fallthrough": falls, "source_block_id": block}
        for block, pair in enumerate(outcomes)
        for count, falls in zip(pair, (True, False), strict=True)
    ]


def test_conditions_are_those_of_if_and_while_that_do_not_throw() -> None:
    assert lines_of_conditions(SOURCE) == {3, 4, 8}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ([(3, 4)], [(3, 4)]),
        ([(0, 7)], [(0, 7)]),
        # A sanitizer looks at a value before it decides.
        ([(0, 7), (3, 4)], [(3, 4)]),
        ([(0, 7), (0, 7)], [(0, 7)]),
        ([(9, 1), (0, 9), (9, 0)], [(9, 1), (9, 0)]),
        # The first of two conditions never holds, and some of the rest do.
        ([(7, 0), (3, 4)], [(7, 0), (3, 4)]),
        # The first always decides: the second is never reached.
        ([(7, 0), (0, 0)], [(7, 0)]),
    ],
)
def test_checks_of_sanitizers_are_no_conditions(
    given: list[tuple[int, int]], found: list[tuple[int, int]]
) -> None:
    assert outcomes_of(branches(*given)) == found


def test_calls_and_marked_branches_are_no_conditions() -> None:
    call = {"count": 9, "fallthrough": True, "source_block_id": 0}
    marked = [{"count": count, "gcovr/excluded": True} for count in (5, 0)]
    assert outcomes_of([call, *branches((5, 6)), call, *marked]) == [(5, 6)]


@pytest.mark.parametrize(
    ("instances", "seen"),
    [
        ([[(1, 1)]], True),
        ([[(1, 0)]], False),
        ([[(1, 0)], [(0, 1)]], True),
        ([[(1, 0)], [(2, 0)]], False),
        ([[(1, 0)], [(1, 1), (1, 1)]], True),
    ],
)
def test_an_outcome_counts_in_any_instance_of_a_template(
    instances: list[list[tuple[int, int]]], seen: bool, tmp_path: Path
) -> None:
    (tmp_path / "f.cpp").write_text(SOURCE, encoding="utf-8")
    lines = [
        {"line_number": number, "branches": branches(*outcomes)}
        for outcomes in instances
        for number in (2, 7, 8)
    ]
    report = {"files": [{"file": "f.cpp", "lines": lines}]}
    expected = [] if seen else ["f.cpp:8: while (b > 0) --b;"]
    assert list(one_sided(report, tmp_path)) == expected
