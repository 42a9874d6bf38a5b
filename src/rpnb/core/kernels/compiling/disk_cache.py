"""Compiled kernels on the disk, until a source that they depend on changes.

Numba's own cache forgets a compiled function when the function's file changes. A kernel
contains those it calls, so it must also be forgotten when one of their files changes:
here the stamp of a kernel covers its source, all sources of `rpnb.core` that this one
imports, directly or through others, and the versions of what compiles them. It covers
contents and not times, so a copy of the package with its cache is warm. Where files go
is left to Numba: ``NUMBA_CACHE_DIR`` if it is set, ``__pycache__`` beside the source,
or the user's cache where that is read-only.
"""

import hashlib
import os
import re
import time
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

import llvmlite
import numba
import numpy as np
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

_fcntl: Any
try:
    import fcntl as _fcntl
except ImportError:  # pragma: no cover - not a Unix
    _fcntl = None

CORE = Path(__file__).parents[2]
# A module of the core by its name, wherever a source has it: more than the imports, if
# a comment names one, and never less.
_NAMED = re.compile(rb"\brpnb\.core((?:\.\w+)+|(?= import))")


@cache
def _read(source: Path) -> tuple[bytes, frozenset[Path]]:
    """Return a source's SHA-256 and the sources of the core that it names.

    A name of a folder stands for all sources in it.
    """
    content = source.read_bytes()
    found: set[Path] = set()
    for name in set(_NAMED.findall(content)):
        place = CORE.joinpath(*name.decode().split(".")[1:])
        if place.is_dir():
            found.update(place.rglob("*.py"))
        elif place.with_suffix(".py").is_file():
            found.add(place.with_suffix(".py"))
        elif place.parent.with_suffix(".py").is_file():  # an attribute of a module
            found.add(place.parent.with_suffix(".py"))
    return hashlib.sha256(content).digest(), frozenset(found)


def _reachable(source: Path) -> set[Path]:
    """Return a source and all of the core that it names, directly or through others."""
    found, waiting = {source}, [source]
    while waiting:
        new = _read(waiting.pop())[1] - found
        found |= new
        waiting += new
    return found


@cache
def stamp(source: Path) -> tuple[str, ...]:
    """Return what code compiled from a source depends on, besides its signature.

    It is taken when the first kernel of the source is defined: a source that changes
    later is not the one that this process compiles.
    """
    digest = hashlib.sha256()
    for path in sorted(_reachable(source)):
        digest.update(f"{os.path.relpath(path, CORE)}\n".encode() + _read(path)[0])
    versions = numba.__version__, llvmlite.__version__, np.__version__
    return (*versions, digest.hexdigest())


class _Files(IndexDataCacheFile):
    """The files of one function: an index by signature, and one file for each.

    Numba numbers the latter, so two processes that compile the same function for two
    signatures at the same time may both write number 1, and one reads the other's code.
    A name that depends on stamp and signature cannot be mistaken. The data are written
    first: what an index names exists, or has been removed as stale and is compiled
    again.
    """

    def save(self, key: object, data: object) -> None:
        """Write the compiled code for a signature."""
        files: Any = super()
        index = files._load_index()
        if not index:
            self._remove_stale()
        version = hashlib.sha256(repr((self._source_stamp, key)).encode())
        name = self._data_name_pattern.replace("{number:d}", version.hexdigest()[:16])
        files._save_data(name, data)
        index[key] = name
        files._save_index(index)

    def _remove_stale(self) -> None:
        for path in Path(self._cache_path).glob(
            self._data_name_pattern.replace("{number:d}", "*")
        ):
            with suppress(OSError):  # another process was faster
                path.unlink()


class _OneCompiler:
    """A lock of processes: of those that need the same kernel, one compiles it.

    The others wait for its code instead of compiling the same. A process that stops
    gives its lock back; one that is merely slow is waited for `PATIENCE` seconds, which
    costs a second compilation and nothing else. Where files cannot be locked, everyone
    compiles.
    """

    PATIENCE = 60.0
    PAUSE = 0.02

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None

    def acquire(self) -> bool:
        """Return whether another process had the lock, and its code may be there."""
        if _fcntl is None or self._file is not None:
            return False
        waited = 0.0
        with suppress(OSError):
            self._file = self._path.open("ab")
            while True:
                try:
                    _fcntl.lockf(self._file, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
                except (BlockingIOError, PermissionError):
                    if waited >= self.PATIENCE:
                        break
                    time.sleep(self.PAUSE)
                    waited += self.PAUSE
                else:
                    break
        return waited > 0.0

    def release(self) -> None:
        """Let the next process have it."""
        if self._file is not None:
            self._file.close()
            self._file = None


class KernelCache(FunctionCache):
    """The cache of one kernel; stale when a source that it depends on has changed."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        base = self._impl.filename_base
        fresh = stamp(Path(function.__code__.co_filename))
        files: Any = _Files
        self._cache_file = files(self._cache_path, base, fresh)
        # Read and compared before the rest of an index, whose types may be of modules
        # that are no longer there.
        self._cache_file._version = fresh
        self._one_compiler = _OneCompiler(Path(self._cache_path, f"{base}.lock"))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature; none if it is ours to compile."""
        cache: Any = super()
        found = cache.load_overload(sig, target_context)
        if found is None and self._one_compiler.acquire():
            found = cache.load_overload(sig, target_context)
            if found is not None:
                self._one_compiler.release()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the compiled code for a signature, for us and whoever waits for it."""
        cache: Any = super()
        try:
            cache.save_overload(sig, data)
        finally:
            self._one_compiler.release()


@cache
def warn_once() -> None:
    """Warn that compiled code is not kept, for the first kernel only."""
    warnings.warn(
        f"compiled code can be written neither to {CORE} nor to the user's cache, and "
        "is compiled again in each process; set NUMBA_CACHE_DIR to a folder for it",
        RuntimeWarning,
        stacklevel=4,
    )


def keep_on_disk(dispatcher: Any) -> None:
    """Give a Numba dispatcher a `KernelCache`; with a warning none, if it cannot be."""
    try:
        dispatcher._cache = KernelCache(dispatcher.py_func)
    except RuntimeError:  # Numba found no folder that it can write to
        dispatcher._cache = NullCache()
        warn_once()
