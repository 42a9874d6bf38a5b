"""What a target of the fuzzer is, and what cases of all targets check."""

import base64
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

import numpy as np

#: A case: values that JSON has.
Case: TypeAlias = dict[str, Any]
#: Exceptions by which rpnb refuses arguments.
REFUSALS: Final = (ValueError, TypeError)


class Finding(Exception):
    """Something that must not happen has happened."""


class Target(NamedTuple):
    """A kind of input."""

    make: Callable[[np.random.Generator], Case]
    """make(rng) returns a case"""
    run: Callable[[Case, Path], None]
    """run(case, folder) raises whatever should not be raised; it may write to a folder
    of its own"""
    prepare: Callable[[], None] = lambda: None
    """makes what many cases use"""


def report(what: str) -> NoReturn:
    """Raise a finding."""
    raise Finding(what)


def to_text(content: bytes) -> str:
    """Return bytes as text for a case."""
    return base64.b85encode(zlib.compress(content, 6)).decode()


def from_text(text: str) -> bytes:
    """Return the bytes that `to_text` made text of."""
    return zlib.decompress(base64.b85decode(text))


def contents_of(folder: Path) -> Mapping[str, bytes]:
    """Return all files in a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def require_no_temporary(folder: Path) -> None:
    """Refuse a folder in which a half-written file was left."""
    for path in folder.iterdir():
        if path.name.endswith(".tmp"):
            report(f"a half-written file was left: {path.name}")


def choose(rng: np.random.Generator, options: Any) -> Any:
    """Return one of several values, whatever they are."""
    listed = list(options)
    return listed[int(rng.integers(len(listed)))]
