"""Targets of the fuzzer, and checks that all of them share."""

import base64
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

import numpy as np

#: A case: a JSON object.
Case: TypeAlias = dict[str, Any]
#: Exceptions with which rpnb refuses arguments.
REFUSALS: Final = (ValueError, TypeError)


class Finding(Exception):
    """A failure that a case has found."""


class Target(NamedTuple):
    """A kind of input to attack."""

    make: Callable[[np.random.Generator], Case]
    """make(rng) returns a case"""
    run: Callable[[Case, Path], None]
    """run(case, folder) runs a case in its own folder, and raises if it fails"""
    prepare: Callable[[], None] = lambda: None
    """creates what many cases use"""


def report(what: str) -> NoReturn:
    """Raise a finding."""
    raise Finding(what)


def to_text(content: bytes) -> str:
    """Return bytes as text, for a case."""
    return base64.b85encode(zlib.compress(content, 6)).decode()


def from_text(text: str) -> bytes:
    """Return the bytes that `to_text` encoded."""
    return zlib.decompress(base64.b85decode(text))


def contents_of(folder: Path) -> Mapping[str, bytes]:
    """Return the contents of all files in a folder, by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def require_no_temporary(folder: Path) -> None:
    """Report a half-written file in a folder."""
    for path in folder.iterdir():
        if path.name.endswith(".tmp"):
            report(f"a half-written file was left: {path.name}")


def choose(rng: np.random.Generator, options: Any) -> Any:
    """Return a random one of several values."""
    listed = list(options)
    return listed[int(rng.integers(len(listed)))]
