"""Compiled kernels are kept on the disk, and forgotten when any source has changed."""

import importlib.util
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest
from numba import config
from numba.core.caching import IndexDataCacheFile

from rpnb.core.kernels import disk_cache
from rpnb.core.kernels.compiled import compiled

CALLEE = "def callee(x):\n    return x + {}\n"
CALLER = "from callee import inner\n\ndef caller(x):\n    return inner(x)\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder in the place of the core: a kernel, and one that it calls."""
    place = tmp_path / "core"
    place.mkdir()
    (place / "callee.py").write_text(CALLEE.format(10.0))
    (place / "caller.py").write_text(CALLER)
    monkeypatch.setattr(disk_cache, "CORE", place)
    monkeypatch.setattr(config, "DISABLE_JIT", 0)
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    return place


def load(folder: Path, name: str, decorate: Callable[[Any], Any]) -> Any:
    """Return the function of a file, compiled as a new process would."""
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return decorate(getattr(module, name))


def run(folder: Path, decorate: Callable[[Any], Any] = compiled) -> tuple[float, int]:
    """Return the caller's result for 1 and how often it was found on the disk."""
    disk_cache.stamp.cache_clear()
    disk_cache.warn_once.cache_clear()
    callee = type(sys)("callee")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "callee", callee)
        patch.setattr(callee, "inner", load(folder, "callee", decorate), raising=False)
        caller = load(folder, "caller", decorate)
        result = caller(1.0)
    disk_cache.stamp.cache_clear()
    return result, sum(caller.stats.cache_hits.values())


def kept(folder: Path) -> list[str]:
    return sorted(path.suffix for path in folder.rglob("*.nb?"))


def test_a_kernel_is_compiled_again_when_one_that_it_calls_has_changed(
    folder: Path,
) -> None:
    assert run(folder) == (11.0, 0)
    assert run(folder) == (11.0, 1)
    (folder / "callee.py").write_text(CALLEE.format(20.0))
    assert run(folder) == (21.0, 0)
    assert run(folder) == (21.0, 1)
    # Of each function one compiled version is kept, and not both that there were.
    assert kept(folder) == [".nbc"] * 2 + [".nbi"] * 2


def test_a_stale_index_may_name_types_that_are_no_longer_there(folder: Path) -> None:
    run(folder)
    for index in folder.rglob("*.nbi"):
        with index.open("rb+") as file:
            pickle.load(file)  # noqa: S301 - the version, which we wrote
            file.write(b"crpnb.core.gone\nRecord\n.")  # a pickled name
            file.truncate()
    (folder / "callee.py").write_text(CALLEE.format(20.0))
    assert run(folder) == (21.0, 0)


def test_numba_alone_keeps_the_stale_kernel(folder: Path) -> None:
    plain = numba.njit(cache=True)
    assert run(folder, plain) == (11.0, 0)
    (folder / "callee.py").write_text(CALLEE.format(20.0))
    assert run(folder, plain) == (11.0, 1)  # the negative control


def test_processes_that_write_at_the_same_time_do_not_mix_up_signatures(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first has written a part when the second writes all; neither sees the other.

    With Numba's numbered files the second's index would name the first's code.
    """
    (folder / "callee.py").write_text(CALLEE.format(1))
    one, other = (load(folder, "callee", compiled) for _ in range(2))
    with monkeypatch.context() as patch:
        write: Any = IndexDataCacheFile._save_data

        def meanwhile(files: Any, name: str, data: Any) -> None:
            patch.setattr(IndexDataCacheFile, "_save_data", write)
            patch.setattr(IndexDataCacheFile, "_load_index", lambda _files: {})
            other(1)
            write(files, name, data)

        patch.setattr(IndexDataCacheFile, "_save_data", meanwhile)
        one(1.0)
    again = load(folder, "callee", compiled)
    assert [type(again(x)) for x in (1, 1.0)] == [int, float]
    assert sum(again.stats.cache_hits.values()) == 1


def test_a_folder_that_is_read_only_leaves_the_users_cache(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "__pycache__").touch()  # a file: no folder can be made here
    assert run(folder) == (11.0, 0)
    assert run(folder) == (11.0, 1)
    assert kept(folder) == []
    assert kept(tmp_path / "user") == [".nbc"] * 2 + [".nbi"] * 2


def test_without_any_folder_kernels_are_compiled_each_time(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "__pycache__").touch()
    (tmp_path / "user").touch()
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="set NUMBA_CACHE_DIR") as warned:
            assert run(folder) == (11.0, 0)
        assert len(warned) == 1  # for two kernels


def test_the_digest_covers_names_and_contents_of_sources_alone(tmp_path: Path) -> None:
    def digest() -> str:
        return disk_cache.digest_of_sources(tmp_path)

    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "a.py").write_text("1")
    (tmp_path / "b.py").write_text("2")
    first = digest()
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.py").touch()
    (tmp_path / "notes.txt").touch()
    assert digest() == first
    (tmp_path / "part" / "a.py").write_text("3")
    changed = digest()
    (tmp_path / "part" / "a.py").rename(tmp_path / "a.py")
    assert len({first, changed, digest()}) == 3
