"""The tool that prints the import graph and traces a row."""

from pathlib import Path

import rpnb
from import_graph import LABELS, Trace, imports, module_names


def test_imports_are_found_wherever_they_stand(tmp_path: Path) -> None:
    texts = {
        "__init__": "",
        "a": "from rpnb import b\nimport os\n",
        "b": "def late():\n    from rpnb.c import thing\n    import rpnb.a\n",
        "c": "thing = 1\n",
    }
    (tmp_path / "rpnb").mkdir()
    for name, text in texts.items():
        (tmp_path / "rpnb" / f"{name}.py").write_text(text)
    modules = module_names(tmp_path)
    assert list(modules) == ["rpnb", "rpnb.a", "rpnb.b", "rpnb.c"]
    assert imports(modules) == {
        ("rpnb.a", "rpnb.b"),
        ("rpnb.b", "rpnb.c"),
        ("rpnb.b", "rpnb.a"),
    }


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
