"""Compiled kernels that all clones of the repository on one machine share.

Compiling takes as long as all the rest of the tests. What is compiled depends on the
contents of sources and on versions, which its stamp covers, and not on where a clone
is; so tests begin with a copy of what was compiled for the same stamps before, in
whatever clone, and leave a copy of what they had to compile. A wrong file cannot be
used: a kernel's index begins with its stamp, which is compared before anything else is
read.

The folder is ``rpnb-tests`` in the user's cache, or ``RPNB_TESTS_KERNELS``; empty means
none. What no test has asked for in a month is removed.
"""

import hashlib
import os
import pickle
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rpnb.core.kernels.compiling.disk_cache import stamp

ROOT = Path(__file__).parents[1]
SOURCES = ("src", "tests", "benchmarks")
MONTH = 30 * 24 * 3600.0


def store() -> Path | None:
    """Return the folder that clones share; none where kernels are not as they are.

    Kernels that are compiled with other settings are kept elsewhere by who sets them,
    in ``NUMBA_CACHE_DIR``.
    """
    if os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return None
    chosen = os.environ.get("RPNB_TESTS_KERNELS")
    if chosen is not None:
        return Path(chosen) if chosen else None
    user = os.environ.get("XDG_CACHE_HOME")
    return (Path(user) if user else Path.home() / ".cache") / "rpnb-tests"


def _places(shared: Path, root: Path) -> Iterator[tuple[Path, Path, tuple[str, ...]]]:
    """Yield for each source that may have kernels: its name where Numba keeps them,
    the folder that is shared, and its stamp.
    """
    for folder in SOURCES:
        for source in sorted((root / folder).rglob("*.py")):
            if b"compiled" not in source.read_bytes():
                continue
            mark = stamp(source)
            name = str(source.relative_to(root))
            digest = hashlib.sha256(repr((name, mark)).encode()).hexdigest()[:32]
            yield source.parent / "__pycache__" / source.stem, shared / digest, mark


def _stamp_of(index: Path) -> object:
    """Return the stamp that an index begins with; none if there is no index."""
    try:
        with index.open("rb") as file:
            return pickle.load(file)  # noqa: S301 - our own, as Numba reads it
    except (OSError, EOFError, pickle.UnpicklingError):
        return None


def _copy(source: Path, target: Path) -> None:
    """Copy a file so that whoever reads the target finds all of it, or none."""
    partial = target.with_name(f"{target.name}.{os.getpid()}")
    shutil.copyfile(source, partial)
    partial.replace(target)


def _copy_kernels(
    source: Path, target: Path, stem: str, mark: tuple[str, ...]
) -> None:
    """Copy the kernels of one source that have its stamp, unless as many are there.

    Code comes before the index that names it. An index that is longer names more
    signatures: each run begins with what was there and adds to it.
    """
    for index in source.glob(f"{stem}.*.nbi"):
        if _stamp_of(index) != mark:
            continue
        old = target / index.name
        if _stamp_of(old) != mark:
            for code in target.glob(f"{index.stem}.*.nbc"):
                code.unlink(missing_ok=True)
        elif old.stat().st_size >= index.stat().st_size:
            continue
        for code in source.glob(f"{index.stem}.*.nbc"):
            if not (target / code.name).exists():
                _copy(code, target / code.name)
        _copy(index, old)


def fetch(shared: Path, root: Path = ROOT) -> None:
    """Copy to a clone what any clone has compiled of the same sources."""
    with suppress(OSError):  # then it is compiled
        for kept, folder, mark in _places(shared, root):
            if folder.is_dir():
                kept.parent.mkdir(exist_ok=True)
                _copy_kernels(folder, kept.parent, kept.name, mark)
                os.utime(folder)


def keep(shared: Path, root: Path = ROOT) -> None:
    """Copy from a clone what it has compiled; remove what is no longer asked for."""
    with suppress(OSError):  # a disk may be full, or read-only
        for kept, folder, mark in _places(shared, root):
            if any(kept.parent.glob(f"{kept.name}.*.nbi")):
                folder.mkdir(parents=True, exist_ok=True)
                _copy_kernels(kept.parent, folder, kept.name, mark)
        for folder in shared.iterdir():
            if folder.stat().st_mtime < time.time() - MONTH:
                shutil.rmtree(folder, ignore_errors=True)
