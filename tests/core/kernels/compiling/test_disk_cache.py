"""Compiled kernels are kept on the disk until a source they depend on changes."""

import importlib.util
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
import pytest
from numba import config
from numba.core.caching import IndexDataCacheFile

from rpnb.core.kernels.compiling import disk_cache
from rpnb.core.kernels.compiling.compiled import compiled

CALLEE = "def callee(x):\n    return x + {}\n"
CALLER = "from rpnb.core.callee import inner\n\ndef caller(x):\n    return inner(x)\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder in the place of the core: a kernel, and one that it calls."""
    place = tmp_path / "core"
    place.mkdir()
    (place / "callee.py").write_text(CALLEE.format(10.0))
    (place / "caller.py").write_text(CALLER)
    (place / "other.py").write_text("")
    monkeypatch.setattr(disk_cache, "CORE", place)
    monkeypatch.setattr(config, "DISABLE_JIT", 0)
    monkeypatch.setattr(config, "CACHE_DIR", "")
    # Python tells its own compiled files by second and size, which are the same here.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
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


def forget_sources() -> None:
    """Let sources be read anew, as a new process does."""
    disk_cache.stamp.cache_clear()
    disk_cache._read.cache_clear()


def run(folder: Path, decorate: Callable[[Any], Any] = compiled) -> tuple[float, int]:
    """Return the caller's result for 1 and how often it was found on the disk."""
    forget_sources()
    disk_cache.warn_once.cache_clear()
    callee = type(sys)("callee")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "rpnb.core.callee", callee)
        patch.setattr(callee, "inner", load(folder, "callee", decorate), raising=False)
        caller = load(folder, "caller", decorate)
        result = caller(1.0)
    forget_sources()
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
    # One compiled version is kept, not both; the callee is part of the caller's code.
    assert kept(folder) == [".nbc", ".nbi"]


def test_a_kernel_outlives_changes_of_what_it_does_not_call(folder: Path) -> None:
    run(folder)
    (folder / "other.py").write_text("anything = 1\n")
    (folder / "caller.py").touch()  # newer, and the same
    assert run(folder) == (11.0, 1)


def test_a_copy_of_the_sources_with_their_cache_is_warm(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(folder)
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    monkeypatch.setattr(disk_cache, "CORE", copy)
    assert run(copy) == (11.0, 1)


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


HOLD = """
import fcntl, sys, time
file = open(sys.argv[1], "ab")
fcntl.lockf(file, fcntl.LOCK_EX)
print(flush=True)
time.sleep(float(sys.argv[2]))
"""


@contextmanager
def another_compiles(folder: Path, seconds: float) -> Iterator[None]:
    """Let another process compile the callee for some seconds, or until the end."""
    (folder / "__pycache__").mkdir(exist_ok=True)
    lock = folder / "__pycache__" / "callee.callee-1.py311.lock"
    lock = lock.with_name(lock.name.replace("311", "{}{}".format(*sys.version_info)))
    command = [sys.executable, "-c", HOLD, str(lock), str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: S603
        assert process.stdout is not None
        process.stdout.readline()
        yield
        process.kill()


def test_of_two_processes_one_compiles_and_the_other_waits_for_its_code(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code comes to the disk while we wait: the copy put aside stands for it."""
    load(folder, "callee", compiled)(1.0)
    place, aside = folder / "__pycache__", folder / "aside"
    place.rename(aside)
    kernel = load(folder, "callee", compiled)

    def written(_seconds: float) -> None:
        shutil.copytree(aside, place, dirs_exist_ok=True)

    monkeypatch.setattr("rpnb.core.kernels.compiling.disk_cache.time.sleep", written)
    monkeypatch.setattr(disk_cache._OneCompiler, "PATIENCE", 0.1)
    with another_compiles(folder, 60):
        assert kernel(1.0) == 11.0
    assert sum(kernel.stats.cache_hits.values()) == 1


def test_who_waits_too_long_for_another_process_compiles_itself(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_cache._OneCompiler, "PATIENCE", 0.05)
    kernel = load(folder, "callee", compiled)
    with another_compiles(folder, 60):
        assert kernel(1.0) == 11.0
    assert sum(kernel.stats.cache_hits.values()) == 0


def test_a_process_that_stops_is_not_waited_for(folder: Path) -> None:
    kernel = load(folder, "callee", compiled)
    with another_compiles(folder, 0.1):
        assert kernel(1.0) == 11.0
    assert sum(kernel.stats.cache_hits.values()) == 0
    with another_compiles(folder, 0.1):  # and ours has been given back
        pass


def test_a_lock_is_taken_once_and_given_back_once(tmp_path: Path) -> None:
    lock = disk_cache._OneCompiler(tmp_path / "lock")
    lock.release()  # not taken: nothing happens
    assert not lock.acquire()
    assert not lock.acquire()  # ours already, by a compilation that failed
    lock.release()
    assert lock._file is None


def test_a_folder_that_is_read_only_leaves_the_users_cache(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "__pycache__").touch()  # a file: no folder can be made here
    assert run(folder) == (11.0, 0)
    assert run(folder) == (11.0, 1)
    assert kept(folder) == []
    assert kept(tmp_path / "user") == [".nbc", ".nbi"]


def test_without_any_folder_kernels_are_compiled_each_time(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "__pycache__").touch()
    (tmp_path / "user").touch()
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="set NUMBA_CACHE_DIR") as warned:
            assert run(folder) == (11.0, 0)
        assert len(warned) == 1  # for two kernels


def test_a_stamp_covers_what_a_source_names_directly_or_through_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_cache, "CORE", tmp_path)

    def stamp() -> tuple[str, ...]:
        forget_sources()
        return disk_cache.stamp(tmp_path / "a.py")

    def changes(name: str, content: str) -> bool:
        before = stamp()
        (tmp_path / name).write_text(content)
        return stamp() != before

    (tmp_path / "part" / "inner").mkdir(parents=True)
    (tmp_path / "a.py").write_text(
        "from rpnb.core.b import (\n    one,\n)\nfrom rpnb.core.gone import x\n"
    )
    (tmp_path / "b.py").write_text("# of rpnb.core\n")
    assert not changes("part/d.py", "1")
    assert changes("b.py", "from rpnb.core import part\n")
    assert changes("part/d.py", "2")
    assert changes("b.py", "from rpnb.core.part import d\nrpnb.core.a.x\n")  # a circle
    assert changes("part/d.py", "import rpnb.core.c as c")
    assert changes("c.py", "1")
    assert changes("part/inner/e.py", "1")  # a folder stands for all in it
    assert not changes("part/notes.txt", "1")
    assert not changes("f.py", "1")
    forget_sources()
