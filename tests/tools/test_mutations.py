"""Every mutation is one edit that still parses; types and messages are left alone."""

import ast
from pathlib import Path

import pytest

import mutants
from mutations import mutations
from nearest_tests import NearestTests, module_name

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
    drawn = mutants.draw(60, 7, "src/rpnb")
    assert drawn == mutants.draw(60, 7, "src/rpnb")
    assert drawn != mutants.draw(60, 8, "src/rpnb")
    for mutation in drawn:
        source = (mutants.ROOT / mutation.path).read_bytes()
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


def test_a_mutant_is_caught_or_survives_and_is_taken_out_again(tmp_path: Path) -> None:
    contents = {
        "src/rpnb/__init__.py": "",
        "src/rpnb/sums.py": "def f(x):\n    return x + 1, 7\n",
        "tests/test_sums.py": (
            "from rpnb.sums import f\n"
            "def test_f():\n    assert f(1)[0] == 2\n"
            "def test_of_no_use():\n    assert False\n"
        ),
    }
    for name, text in contents.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    path = Path("src/rpnb/sums.py")
    source = (tmp_path / path).read_bytes()
    files = tuple(NearestTests(tmp_path).nearest(path, 3))
    left_out = mutants.fail_unmutated(tmp_path, files)
    assert left_out == ["--deselect=tests/test_sums.py::test_of_no_use"]
    found = {
        mutation.text: mutants.judge(mutation, tmp_path, files, 60.0, left_out)
        for mutation in mutations(path, source)
        if mutation.text in ("-", "8")
    }
    assert {text: verdict.outcome for text, verdict in found.items()} == {
        "-": "caught",
        "8": "survived",
    }
    assert (tmp_path / path).read_bytes() == source
    assert mutants.summarise(list(found.values()), 0.4) == 0
    assert mutants.summarise(list(found.values()), 0.9) == 1
