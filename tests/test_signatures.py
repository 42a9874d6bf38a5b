"""Public signatures match those on record: names, order and defaults of parameters.

Users' code depends on them, and a default that changes by accident alters results
without an error. ``python tests/test_signatures.py`` records an intended change.

There is a file for each module and each command. A method that several classes of a
module have with the same parameters is one line.
"""

import argparse
import ast
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from rpnb.cli import _parser

RECORD = Path(__file__).parent / "golden" / "signatures"
MODULES = (
    *("rpnb", "rpnb.baselines", "rpnb.datasets", "rpnb.drift", "rpnb.evaluate"),
    *("rpnb.datasets.streams", "rpnb.files", "rpnb.preprocessing", "rpnb.river"),
)
#: Modules with optional dependencies: their sources are read.
SOURCES = ("capymoa.py", "client", "spark")


def parameters(function: Callable[..., Any]) -> str:
    """Return names and defaults of a function's parameters, without their types."""
    try:
        found = inspect.signature(function)
    except ValueError:  # written in C
        return "(...)"
    bare = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in found.parameters.values()
    ]
    found = found.replace(parameters=bare, return_annotation=inspect.Signature.empty)
    return re.sub(r" at 0x\w+", "", str(found))


def signatures(module: str) -> Iterator[str]:
    """Yield a line for each public function, class and method of a module."""
    classes: list[str] = []
    owners: dict[str, list[str]] = {}
    for name in sorted(import_module(module).__all__):
        value = getattr(import_module(module), name)
        if not callable(value):
            continue
        yield f"{name}{parameters(value)}"
        if not isinstance(value, type) or issubclass(value, Exception):
            continue
        classes.append(name)
        for method, function in inspect.getmembers(value, callable):
            owner = getattr(function, "__module__", None) or ""
            if not method.startswith("_") and owner.startswith("rpnb"):
                line = f".{method}{parameters(function)}"
                owners.setdefault(line, []).append(name)
    for line in sorted(owners):
        yield f"{some_of(classes, owners[line])}{line}"


def some_of(classes: list[str], owners: list[str]) -> str:
    """Return the names of some classes, or of the others if these are few."""
    others = [name for name in classes if name not in owners]
    if len(classes) < 6 or len(others) > 5:
        return ", ".join(owners)
    return f"(all but {', '.join(others)})" if others else "(all)"


def read_signatures(name: str) -> Iterator[str]:
    """Yield a line for each function and method with defaults of a source."""
    package = Path(inspect.getfile(import_module("rpnb"))).parent
    found = package / name
    for path in sorted(found.glob("*.py")) if found.is_dir() else [found]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = node.args
                for argument in ast.walk(given):
                    if isinstance(argument, ast.arg):
                        argument.annotation = None
                if given.defaults or any(given.kw_defaults):
                    yield f"{path.name}: {node.name}({ast.unparse(given)})"


def commands() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command."""
    (found,) = [
        each
        for each in _parser()._actions
        if isinstance(each, argparse._SubParsersAction)
    ]
    return dict(found.choices)


def options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield a line for each option of a command."""
    for action in parser._actions:
        if action.dest == "help":
            continue
        name = " ".join(action.option_strings) or str(action.metavar)
        parts = {
            "type": getattr(action.type, "__name__", action.type),
            "nargs": action.nargs,
            "default": action.default,
            "choices": None if action.choices is None else [*action.choices],
        }
        shown = [
            f"{key}={value}"
            for key, value in parts.items()
            if value and value != argparse.SUPPRESS
        ]
        yield " ".join([name, *shown])


def records() -> dict[str, Iterable[str]]:
    """Return the lines of each file, by its name."""
    found: dict[str, Iterable[str]] = {m: signatures(m) for m in MODULES}
    for name in SOURCES:
        found[f"rpnb.{name.removesuffix('.py')}"] = read_signatures(name)
    for command, parser in commands().items():
        found[f"command-{command}"] = options(parser)
    return found


RECORDS = records()


@pytest.mark.parametrize("name", RECORDS)
def test_signatures_are_those_on_record(name: str) -> None:
    recorded = (RECORD / f"{name}.txt").read_text("utf-8").splitlines()
    assert [*records()[name]] == recorded


def test_there_is_no_other_record() -> None:
    assert {path.stem for path in RECORD.iterdir()} == set(RECORDS)


def test_classes_are_named_by_the_shorter_list() -> None:
    classes = list("ABCDEFG")
    assert some_of(classes, classes) == "(all)"
    assert some_of(classes, list("ABCDEF")) == "(all but G)"
    assert some_of(classes, ["A"]) == "A"


if __name__ == "__main__":
    for name, lines in records().items():
        text = "".join(f"{line}\n" for line in lines)
        (RECORD / f"{name}.txt").write_text(text, "utf-8")
