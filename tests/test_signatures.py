"""Public signatures match those on record: names, order and defaults of parameters.

Users' code depends on them, and a default that changes by accident alters results
without an error. ``python tests/test_signatures.py`` records an intended change.
"""

import argparse
import ast
import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from rpnb.cli import _parser

RECORD = Path(__file__).parent / "golden" / "signatures.txt"
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


def signatures() -> Iterator[str]:
    """Yield a line for each public function, class and method."""
    for module in MODULES:
        for name in sorted(import_module(module).__all__):
            value = getattr(import_module(module), name)
            if not callable(value):
                continue
            yield f"{module}.{name}{parameters(value)}"
            if not isinstance(value, type) or issubclass(value, Exception):
                continue
            for method, function in sorted(inspect.getmembers(value, callable)):
                owner = getattr(function, "__module__", None) or ""
                if not method.startswith("_") and owner.startswith("rpnb"):
                    yield f"{module}.{name}.{method}{parameters(function)}"


def read_signatures() -> Iterator[str]:
    """Yield a line for each function and method with defaults of other sources."""
    package = Path(inspect.getfile(import_module("rpnb"))).parent
    for name in SOURCES:
        found = package / name
        for path in sorted(found.glob("*.py")) if found.is_dir() else [found]:
            place = path.relative_to(package).as_posix()
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    given = node.args
                    for argument in ast.walk(given):
                        if isinstance(argument, ast.arg):
                            argument.annotation = None
                    if given.defaults or any(given.kw_defaults):
                        yield f"{place}: {node.name}({ast.unparse(given)})"


def options() -> Iterator[str]:
    """Yield a line for each option of each command."""
    (commands,) = [
        each
        for each in _parser()._actions
        if isinstance(each, argparse._SubParsersAction)
    ]
    for command, parser in commands.choices.items():
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
            yield " ".join(["rpnb", command, name, *shown])


def recorded() -> str:
    lines = (*signatures(), *read_signatures(), *options())
    return "".join(f"{line}\n" for line in lines)


def test_signatures_are_those_on_record() -> None:
    assert recorded().splitlines() == RECORD.read_text("utf-8").splitlines()


if __name__ == "__main__":
    RECORD.write_text(recorded(), "utf-8")
