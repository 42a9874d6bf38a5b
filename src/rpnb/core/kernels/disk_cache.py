"""Compiled kernels on the disk, until any source of the core changes.

Numba's own cache forgets a compiled function when the function's file changes. A kernel
contains those it calls, so it must also be forgotten when one of their files changes:
here the stamp of every kernel covers all sources of `rpnb.core`, and the versions of
what compiles them. Where files go is left to Numba: ``NUMBA_CACHE_DIR`` if it is set,
``__pycache__`` beside the source, or the user's cache where that is read-only.
"""

import hashlib
import os
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

CORE = Path(__file__).parents[1]


def digest_of_sources(folder: Path) -> str:
    """Return the SHA-256 of all Python files below a folder, names and contents."""
    found = hashlib.sha256()
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - {"__pycache__"})
        for name in sorted(files):
            if name.endswith(".py"):
                path = Path(place, name)
                content = path.read_bytes()
                address = f"{path.relative_to(folder).as_posix()} {len(content)}\n"
                found.update(address.encode() + content)
    return found.hexdigest()


@cache
def stamp() -> tuple[str, ...]:
    """Return what compiled code depends on besides its signature and the processor.

    It is taken when the first kernel is defined: a source that changes later is not
    the one that this process compiles.
    """
    versions = numba.__version__, llvmlite.__version__, np.__version__
    return (*versions, digest_of_sources(CORE))


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


class KernelCache(FunctionCache):
    """The cache of one kernel; stale as soon as any source of the core has changed."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        own = self._impl.locator.get_source_stamp()
        base = self._impl.filename_base
        fresh = (own, *stamp())
        files: Any = _Files
        self._cache_file = files(self._cache_path, base, fresh)
        # Read and compared before the rest of an index, whose types may be of modules
        # that are no longer there.
        self._cache_file._version = fresh


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
