"""Compiled kernels that all clones of the repository on one machine share.

Compiling takes longer than all tests in a fresh clone. What is compiled depends on the
contents of sources and on versions, which a stamp covers, and not on where a clone is.
So tests begin with a copy of what was compiled for the same stamps before, in whatever
clone, and leave a copy of what they had to compile. No kernel of another stamp is used:
an index begins with its stamp, which is compared before anything else is read.

Kernels of each stamp have a folder. All together have a gigabyte at most; those that
were not asked for the longest are removed.
"""

import hashlib
import os
import pickle
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rpnb.core.kernels.compiling.disk_cache import stamp
from shared_folder import copy_whole, shared_folder

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("src", "tests", "benchmarks")
LIMIT = 10**9  # bytes


class Kernels(NamedTuple):
    """Where kernels of one source are, here and for all; and what they depend on."""

    here: Path
    shared: Path
    stem: str
    stamp: tuple[str, ...]


def store() -> Path | None:
    """Return the folder of kernels; None where they are not compiled as usual.

    Who compiles them with other settings keeps them elsewhere, by ``NUMBA_CACHE_DIR``.
    """
    shared = shared_folder()
    plain = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    if shared is None or plain or os.environ.get("NUMBA_CACHE_DIR"):
        return None
    return shared / "kernels"


def fetch(shared: Path, root: Path = ROOT) -> None:
    """Copy to a clone what any clone has compiled of the same sources."""
    with suppress(OSError):  # then it is compiled
        for kernels in _all_kernels(shared, root):
            if kernels.shared.is_dir():
                os.utime(kernels.shared)
                _copy(kernels, kernels.shared, kernels.here)


def keep(shared: Path, root: Path = ROOT) -> None:
    """Copy from a clone what it has compiled; remove what is too much."""
    with suppress(OSError):  # the disk may be full, or read-only
        for kernels in _all_kernels(shared, root):
            _copy(kernels, kernels.here, kernels.shared)
        size = 0
        for folder in sorted(shared.iterdir(), key=_asked_for, reverse=True):
            size += sum(file.stat().st_size for file in folder.iterdir())
            if size > LIMIT:
                shutil.rmtree(folder, ignore_errors=True)


def _asked_for(folder: Path) -> float:
    """Return when a folder was asked for or written to last."""
    return folder.stat().st_mtime


def _all_kernels(shared: Path, root: Path) -> Iterator[Kernels]:
    """Yield the kernels of each source that may have some."""
    for folder in SOURCES:
        for source in sorted((root / folder).rglob("*.py")):
            if b"compiled" in source.read_bytes():
                now = stamp(source)
                key = repr((str(source.relative_to(root)), now)).encode()
                name = hashlib.sha256(key).hexdigest()[:32]
                here = source.parent / "__pycache__"
                yield Kernels(here, shared / name, source.stem, now)


def _copy(kernels: Kernels, source: Path, target: Path) -> None:
    """Copy kernels that have the stamp, unless the target has as many.

    Code comes before the index that names it. Tests add to the index that they begin
    with, so the larger one has more signatures.
    """
    for index in source.glob(f"{kernels.stem}.*.nbi"):
        if _stamp_of(index) != kernels.stamp:
            continue
        target.mkdir(parents=True, exist_ok=True)
        there = target / index.name
        if _stamp_of(there) != kernels.stamp:
            for code in target.glob(f"{index.stem}.*.nbc"):  # of an older source
                code.unlink(missing_ok=True)
        elif there.stat().st_size >= index.stat().st_size:
            continue
        for code in source.glob(f"{index.stem}.*.nbc"):
            copy_whole(code, target / code.name)
        copy_whole(index, there)


def _stamp_of(index: Path) -> object:
    """Return the stamp that an index begins with; None if there is none."""
    with suppress(OSError, EOFError, pickle.UnpicklingError), index.open("rb") as file:
        return pickle.load(file)  # noqa: S301 - our own, which Numba reads likewise
    return None
