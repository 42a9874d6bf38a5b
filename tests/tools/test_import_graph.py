"""The tool that prints the import graph and traces a row."""

from pathlib import Path

import rpnb
from import_graph import LABELS, Trace, cycles_and_chain, imports, module_names


def test_imports_are_found_wherever_they_stand(tmp_path: Path) -> None:
    texts = {
        "__init__": "",
        "a": "from rpnb import b\nimport os\n",
        "b": "def late():\n    from rpnb.c import thing\n    import rpnb.a\n",
        "c": "if TYPE_CHECKING:\n    from rpnb import a\nthing = 1\n",
    }
    (tmp_path / "rpnb").mkdir()
    for name, text in texts.items():
        (tmp_path / "rpnb" / f"{name}.py").write_text(text)
    modules = module_names(tmp_path)
    assert list(modules) == ["rpnb", "rpnb.a", "rpnb.b", "rpnb.c"]
    executed = {("rpnb.a", "rpnb.b"), ("rpnb.b", "rpnb.c"), ("rpnb.b", "rpnb.a")}
    assert imports(modules) == {*executed, ("rpnb.c", "rpnb.a")}
    assert imports(modules, annotations=False) == executed


def test_the_package_has_no_cycle_of_imports() -> None:
    modules = module_names(Path(rpnb.__file__).parents[1])
    cycles, _ = cycles_and_chain(imports(modules, annotations=False))
    assert cycles == []


def test_modules_that_import_each_other_are_a_cycle_and_one_link_of_a_chain() -> None:
    pairs = {("a", "b"), ("b", "c"), ("c", "b"), ("c", "d"), ("a", "d"), ("e", "d")}
    assert cycles_and_chain(pairs) == ([{"b", "c"}], ["a", "b", "d"])
    assert cycles_and_chain({("a", "b"), ("b", "c")}) == ([], ["a", "b", "c"])


def test_a_trace_counts_modules_functions_depth_and_labels(tmp_path: Path) -> None:
    path = tmp_path / "rpnb" / "labels.py"
    text = "def outer():\n    find()\n    find()\n\ndef find():\n    len([])\n"
    names: dict[str, object] = {}
    exec(compile(text, str(path), "exec"), names)  # noqa: S102 - the text above
    outer = names["outer"]
    assert callable(outer)
    trace = Trace(tmp_path)
    trace.follow(outer)
    found = "1 modules, 2 functions, depth 2\n    labels: find 2"
    assert str(trace) == found
    trace.on = False
    trace.follow(outer)
    assert str(trace) == found


def test_the_functions_that_number_labels_exist() -> None:
    package = Path(rpnb.__file__).parent
    for place, name in LABELS:
        assert f"def {name}(" in (package / place).read_text(), (place, name)
