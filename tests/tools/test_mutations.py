"""Every mutation is one edit that still parses; types and messages are left alone."""

import ast
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import mutants
from mutations import mutations
from nearest_tests import NearestTests, module_name
from reached_lines import (
    ROOT,
    ReachedLines,
    RecordedTest,
    Suite,
    changed_tests,
    copy_kernels,
    record,
)
from where_used import Sources

HERE = Path("src/rpnb/somewhere.py")


def mutated(source: str) -> set[str]:
    """Return what becomes of a source, by any of its mutations."""
    text = source.encode()
    return {mutation.apply(text).decode() for mutation in mutations(HERE, text)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("y = a + b", {"y = a - b"}),
        ("y = (a) // (b)", {"y = (a) * (b)"}),
        ("y = é + b", {"y = é - b"}),  # places are counted in bytes
        ("y += a", {"y -= a", "pass"}),
        ("y = a < b <= c", {"y = a <= b <= c", "y = a < b < c"}),
        ("y = a is  not b", {"y = a is b"}),
        ("y = a not in b", {"y = a in b"}),
        ("y = a and b and c", {"y = a or b and c"}),
        ("y = -a", {"y = (a)"}),
        ("y = not a", {"y = (a)"}),
        ("y = f(3, True, 0.5)", {
            "y = f(4, True, 0.5)", "y = f(3, False, 0.5)", "y = f(3, True, 1.0)",
        }),
        ("if a:\n    f()", {"if (not (a)):\n    f()", "if a:\n    pass"}),
        ("def f():\n    return x", {"def f():\n    return None"}),
        ("raise ValueError(x)", {"pass"}),
        ("a[i] = x", {"pass"}),
    ],
)  # fmt: skip
def test_each_kind(source: str, expected: set[str]) -> None:
    assert mutated(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""Text."""',
        "x: int | None",
        "def f(x: Literal[1] | None) -> int | None: ...",
        "Number = int | float",
        "Kind = Literal[1, 2]",
        "if TYPE_CHECKING:\n    x = 1",
        "class A(Protocol):\n    x = 1",
        "@lru_cache(maxsize=3)\ndef f(): ...",
        "y = 'a' + b",
        "y = zip(a, b, strict=True)",
        "return_nothing = None",
        "def f():\n    return None",
    ],
)
def test_what_is_left_alone(source: str) -> None:
    assert mutated(source) == set()


def test_mutants_of_the_package_parse_and_differ_and_depend_on_the_seed_alone() -> None:
    drawn = mutants.draw(60, 7, "src/rpnb/e")
    assert drawn == mutants.draw(60, 7, "src/rpnb/e")
    assert drawn != mutants.draw(60, 8, "src/rpnb/e")
    for mutation in drawn:
        source = (ROOT / mutation.path).read_bytes()
        changed = mutation.apply(source)
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))
        assert mutation.diff(source).count("\n@@") >= 1


def test_the_nearest_tests_come_first(tmp_path: Path) -> None:
    files = {
        "src/rpnb/__init__.py": "from rpnb.part.inner import f",
        "src/rpnb/part/inner.py": "def f(): ...",
        "src/rpnb/part/outer.py": "from rpnb.part.inner import f",
        "src/rpnb/other.py": "",
        "tests/part/test_inner.py": "import rpnb.part.outer",
        "tests/part/test_outer.py": "from rpnb.part import outer",
        "tests/test_all.py": "import rpnb",
        "tests/test_other.py": "import rpnb.other",
        "tests/helper.py": "from rpnb.part.inner import f",
        "tests/test_helped.py": "from helper import f",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    inner = Path("src/rpnb/part/inner.py")
    assert module_name(inner) == "rpnb.part.inner"
    found = [path.name for path in NearestTests(tmp_path).nearest(inner, 9)]
    assert found == ["test_inner.py", "test_outer.py", "test_all.py", "test_helped.py"]
    assert len(NearestTests(tmp_path).nearest(inner, 2)) == 2


def test_kernels_of_one_tree_take_the_place_of_those_of_another(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for tree, name in ((one, "f.nbi"), (one, "f.1.nbc"), (other, "f.2.nbc")):
        path = tree / "src" / "rpnb" / "__pycache__" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    bytecode = other / "src" / "rpnb" / "__pycache__" / "f.pyc"
    bytecode.touch()
    copy_kernels(one, other)
    found = {path.name for path in bytecode.parent.iterdir()}
    assert found == {"f.nbi", "f.1.nbc", "f.pyc"}


def test_a_mutant_is_caught_or_survives_and_is_taken_out_again(tmp_path: Path) -> None:
    contents = {
        "src/rpnb/__init__.py": "",
        "src/rpnb/sums.py": "def f(x):\n    return x + 1, 7\n",
        "tests/test_sums.py": (
            "from rpnb.sums import f\n"
            "def test_f():\n    assert f(1)[0] == 2\n"
            "def test_that_fails_anyway():\n    assert f(1)[1] == 9\n"
        ),
    }
    for name, text in contents.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    path = Path("src/rpnb/sums.py")
    source = (tmp_path / path).read_bytes()
    test = "tests/test_sums.py::test_f"
    bad = "tests/test_sums.py::test_that_fails_anyway"
    run = mutants.Run(Suite("compiled", ()), (test,), 60.0)
    plus, seven = (
        next(each for each in mutations(path, source) if each.text == text)
        for text in ("-", "8")
    )
    caught = mutants.judge(plus, tmp_path, [run])
    assert (caught.outcome, caught.test) == ("caught", test)
    assert mutants.judge(seven, tmp_path, [run]).outcome == "survived"
    assert mutants.judge(seven, tmp_path, []).outcome == "not reached"
    missing = mutants.Run(None, (), 0.0)
    assert mutants.judge(seven, tmp_path, [missing]).outcome == "not run"
    assert (tmp_path / path).read_bytes() == source
    fooled = replace(caught, test=bad)
    failing = mutants.not_by_the_mistake([caught, fooled], tmp_path)
    assert failing == {bad}
    assert mutants.summarise([caught, fooled], failing, 0.5) == 0
    assert mutants.summarise([caught, fooled], failing, 0.9) == 1


def test_a_crash_notices_a_mutant_and_so_does_a_lack_of_time(tmp_path: Path) -> None:
    contents = {
        "src/rpnb/__init__.py": "",
        "src/rpnb/sums.py": "def f(x):\n    return x + 1, 7\n",
        "tests/test_sums.py": (
            "import os\nfrom rpnb.sums import f\n"
            "def test_f():\n    assert f(1)[0] == 2 or os.kill(os.getpid(), 11)\n"
            "def test_g():\n    while f(1)[1] != 7:\n        pass\n"
        ),
    }
    for name, text in contents.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    path = Path("src/rpnb/sums.py")
    found = mutations(path, contents[path.as_posix()].encode())
    tests = ("tests/test_sums.py::test_f", "tests/test_sums.py::test_g")
    outcomes = {
        each.text: [
            mutants.judge(each, tmp_path, [run]).outcome
            for compiles in (False, True)
            for run in [mutants.Run(Suite("compiled", ()), tests, 4.0, compiles)]
        ]
        for each in found
        if each.text in ("-", "8")
    }
    assert outcomes == {
        "-": ["caught", "caught"],
        "8": ["caught by time", "undecided"],
    }


def test_files_take_turns_and_the_tests_beside_come_last() -> None:
    tests = {
        "near::a": RecordedTest("near", 3.0, failed=False),
        "near::b": RecordedTest("near", 1.0, failed=False),
        "near::beside": RecordedTest("near", 0.1, failed=False),
        "far::c": RecordedTest("far", 2.0, failed=False),
        "far::fails": RecordedTest("far", 0.1, failed=True),
        "elsewhere::d": RecordedTest("elsewhere", 0.1, failed=False),
    }
    ranks = {"near": 0, "far": 1}
    reaching = {"near::a", "near::b", "far::c", "far::fails"}
    in_order = ["near::b", "far::c", "near::a", "near::beside"]
    assert mutants.choose(reaching, tests, ranks, 9.0) == in_order
    assert mutants.choose(reaching, tests, ranks, 3.05) == in_order[:2]
    assert mutants.choose(reaching, tests, ranks, 9.0, 1) == [
        test for test in in_order if test.startswith("near")
    ]


def test_each_line_of_the_function_has_a_test_before_files_take_turns() -> None:
    names = ("near::a", "near::b", "near::c", "far::d")
    tests = {
        name: RecordedTest(name.split(":")[0], cost, failed=False)
        for name, cost in zip(names, (1.0, 2.0, 3.0, 4.0), strict=True)
    }
    ranks, reaching = {"near": 0, "far": 1}, set(names)
    everywhere = [reaching, {"elsewhere"}]
    plain = mutants.choose(reaching, tests, ranks, 9.0)
    assert mutants.choose(reaching, tests, ranks, 9.0, 7, everywhere) == plain
    branches = [*everywhere, {"near::b", "near::c"}, {"far::d"}]
    chosen = ["far::d", "near::b", "near::a"]
    assert mutants.choose(reaching, tests, ranks, 9.0, 1, branches) == chosen


def test_tests_are_recorded_line_by_line_with_the_processes_they_start(
    tmp_path: Path,
) -> None:
    contents = {
        "tree/src/rpnb/__init__.py": "",
        "tree/src/rpnb/sums.py": (
            "def f(x):\n    if x:\n        return 1\n    return 2\n"
        ),
        "tree/tests/test_sums.py": (
            "import subprocess, sys\n"
            "def test_here():\n    from rpnb.sums import f\n    assert f(0) == 2\n"
            "def test_there():\n    code = 'from rpnb.sums import f; f(1)'\n"
            "    subprocess.run([sys.executable, '-c', code], check=True)\n"
        ),
    }
    for name, text in contents.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    tree, kept = tmp_path / "tree", tmp_path / "kept"
    record(Suite("compiled", ()), ["tests"], tree, kept / "compiled", jobs=0)
    shutil.copytree(tree / "src", kept / "sources" / "src")
    path = Path("src/rpnb/sums.py")
    (tree / path).write_text("\n\n" + contents["tree/src/rpnb/sums.py"])
    reached = ReachedLines(kept / "compiled", tree)
    here, there = "tests/test_sums.py::test_here", "tests/test_sums.py::test_there"
    assert reached.tests.keys() == {here, there}
    assert reached.reaching(path, [4]) == {here, there}
    assert reached.reaching(path, [5]) == {there}
    assert reached.reaching(path, [6]) == {here}
    assert changed_tests(kept, tree) == ["tests/test_sums.py"]
    again = shutil.copytree(tree, tmp_path / "again")
    (again / path).write_text(contents["tree/src/rpnb/sums.py"])
    (again / "tests" / "test_more.py").write_text(
        "from rpnb.sums import f\ndef test_more():\n    assert f(2) == 1\n"
    )
    record(Suite("compiled", ()), ["tests/test_more.py"], again, kept / "compiled", 0)
    reached = ReachedLines(kept / "compiled", tree)
    assert reached.reaching(path, [5]) == {there, "tests/test_more.py::test_more"}


def test_a_constant_is_run_by_what_names_it(tmp_path: Path) -> None:
    contents = {
        "src/rpnb/a.py": (
            "SIZE = 3\n\ndef f(x=1):\n    y = [\n        x,\n        SIZE,\n    ]\n"
            "    return y\n"
        ),
        "src/rpnb/b.py": "from rpnb.a import SIZE\n\ndef g(x=SIZE):\n    return x\n",
    }
    for name, text in contents.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    a, b = Path("src/rpnb/a.py"), Path("src/rpnb/b.py")
    sources = Sources(tmp_path)
    assert sources.lines(a, 1)[0] == {a: {6}, b: {4}}
    assert sources.lines(a, 3)[0] == {a: {4, 5, 6, 7, 8}}
    assert sources.lines(a, 5)[:2] == [{a: {5}}, {a: {4, 5, 6, 7}}]


def test_what_is_made_at_import_is_tested_by_those_who_use_it(tmp_path: Path) -> None:
    source = (
        "def _table():\n    return [1]\n\n"
        "_TABLE = _table()\n\n"
        "def f(i):\n    return _TABLE[i]\n"
    )
    path = Path("src/rpnb/a.py")
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(source)
    assert Sources(tmp_path).lines(path, 2)[0] == {path: {2, 7}}
    assert Sources(tmp_path).lines(path, 7)[0] == {path: {7}}
