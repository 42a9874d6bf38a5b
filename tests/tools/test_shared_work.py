"""What clones of the repository share: it is used where it holds, and only there."""

import gc
import importlib.util
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from numba import config

import check_types
import kernel_store
from rpnb.core.kernels.compiling import disk_cache
from rpnb.core.kernels.compiling.compiled import compiled
from shared_folder import copy_whole, shared_folder

SOURCE = "# compiled\n\ndef kernel(x):\n    return x + {}\n"
compiling = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="needs compiled kernels"
)


@pytest.fixture
def clone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Path]]:
    """Return what makes a clone with one kernel."""
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def make(name: str, number: float = 10.0) -> Path:
        root = tmp_path / name
        (root / "src").mkdir(parents=True, exist_ok=True)
        (root / "src" / "kernels.py").write_text(SOURCE.format(number))
        monkeypatch.setattr(disk_cache, "CORE", root / "src")
        disk_cache.stamp.cache_clear()
        disk_cache._read.cache_clear()
        return root

    yield make
    sys.modules.pop("kernels", None)
    disk_cache.stamp.cache_clear()
    disk_cache._read.cache_clear()


def call(root: Path, value: Any = 1.0) -> tuple[float, int]:
    """Return the kernel's result, and how often it was found on the disk."""
    source = root / "src" / "kernels.py"
    spec = importlib.util.spec_from_file_location("kernels", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A kernel that is read from the disk imports its module, once all others are gone.
    sys.modules[spec.name] = module
    gc.collect()
    spec.loader.exec_module(module)
    kernel: Any = compiled(module.kernel)
    return kernel(value), sum(kernel.stats.cache_hits.values())


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*.nb?"))


@compiling
def test_a_clone_begins_with_what_another_has_compiled(
    clone: Callable[..., Path], tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    one = clone("one")
    kernel_store.fetch(shared, one)  # there is nothing yet
    assert call(one) == (11.0, 0)
    kernel_store.keep(shared, one)
    other = clone("other")
    kernel_store.fetch(shared, other)
    assert files(other) == files(one)
    assert call(other) == (11.0, 1)


@compiling
def test_another_source_is_compiled_and_its_kernels_stand_beside_the_first(
    clone: Callable[..., Path], tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    for number in (10.0, 20.0):
        root = clone("one", number)
        kernel_store.fetch(shared, root)
        assert call(root) == (1.0 + number, 0)
        kernel_store.keep(shared, root)
    assert len(list(shared.iterdir())) == 2
    # Back to the first source in the same clone: nothing is left of the second.
    root = clone("one", 10.0)
    kernel_store.fetch(shared, root)
    assert call(root) == (11.0, 1)
    assert len(files(root)) == 2


@compiling
def test_a_kernel_of_another_stamp_is_neither_kept_nor_fetched(
    clone: Callable[..., Path], tmp_path: Path
) -> None:
    """A source that changes while tests run: its kernels have the old stamp."""
    shared = tmp_path / "shared"
    call(clone("one"))
    changed = clone("one", 20.0)
    kernel_store.keep(shared, changed)
    assert files(shared) == []
    call(clone("one"))
    kernel_store.keep(shared, clone("one"))
    (index,) = shared.rglob("*.nbi")
    index.write_bytes(pickle.dumps(("another", "stamp")) + index.read_bytes())
    other = clone("other")
    kernel_store.fetch(shared, other)
    assert files(other) == []
    assert call(other) == (11.0, 0)


@compiling
def test_more_signatures_replace_fewer_and_fewer_never_more(
    clone: Callable[..., Path], tmp_path: Path
) -> None:
    shared = tmp_path / "shared"

    def run(name: str, *values: Any) -> int:
        root = clone(name)
        for value in values:
            call(root, value)
        kernel_store.keep(shared, root)
        return len(files(shared))

    assert run("one", 1.0) == 2
    assert run("two", 1.0, 1) == 3
    assert run("one") == 3
    root = clone("one")
    kernel_store.fetch(shared, root)
    assert call(root, 1) == (11, 1)


@compiling
def test_what_was_not_asked_for_the_longest_makes_room(
    clone: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"

    def learn(number: float) -> Path:
        root = clone("one", number)
        call(root)
        kernel_store.keep(shared, root)
        (new,) = set(shared.iterdir()) - known
        known.add(new)
        os.utime(new, (1000 + number, 1000 + number))
        return new

    known: set[Path] = set()
    first, second = learn(10.0), learn(20.0)
    kernel_store.fetch(shared, clone("two", 10.0))  # asked for again
    size = sum(path.stat().st_size for path in first.iterdir())
    monkeypatch.setattr(kernel_store, "LIMIT", 2.5 * size)
    third = learn(30.0)
    assert known == {first, second, third}
    assert set(shared.iterdir()) == {first, third}


def test_where_nothing_can_be_written_nothing_is_shared(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    kernel_store.keep(tmp_path / "file" / "kernels")
    kernel_store.fetch(tmp_path / "file" / "kernels")
    check_types.keep(tmp_path / "file" / "mypy.tar", tmp_path)
    check_types.fetch(tmp_path / "file" / "mypy.tar", tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_a_file_is_copied_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "new").write_text("new")
    (tmp_path / "old").write_text("old")

    def half(_source: Path, target: Path) -> None:
        target.write_text("n")
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("shutil.copyfile", half)
        with pytest.raises(OSError, match="full"):
            copy_whole(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "old").read_text() == "old"
    copy_whole(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "old").read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 2


def test_the_folder_is_the_users_or_a_chosen_one_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RPNB_SHARED", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert shared_folder() == tmp_path / "rpnb-tests"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert shared_folder() == Path.home() / ".cache" / "rpnb-tests"
    monkeypatch.setenv("RPNB_SHARED", str(tmp_path / "chosen"))
    assert kernel_store.store() == tmp_path / "chosen" / "kernels"
    monkeypatch.setenv("RPNB_SHARED", "")
    assert shared_folder() is kernel_store.store() is None


@pytest.mark.parametrize("name", ["NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT"])
def test_kernels_with_other_settings_are_not_shared(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.setenv("RPNB_SHARED", "anything")
    assert kernel_store.store() is not None
    monkeypatch.setenv(name, "1")
    assert kernel_store.store() is None


def test_types_found_in_one_clone_are_known_in_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a mistake is found all the same."""
    monkeypatch.setenv("RPNB_SHARED", str(tmp_path / "shared"))
    said = {}

    def run(command: list[str], **_more: Any) -> "subprocess.CompletedProcess[str]":
        root = check_types.ROOT
        done = subprocess.run(  # noqa: S603 - mypy
            [*command, "-v", "--config-file=", "source.py"],
            cwd=root,
            capture_output=True,
            text=True,
            check=False,
        )
        said[root.name] = done.stdout + done.stderr
        return done

    monkeypatch.setattr(check_types, "run", run)
    for name, text in (("one", "1"), ("two", "1"), ("three", "'a'")):
        root = tmp_path / name
        root.mkdir()
        (root / "source.py").write_text(f"x: int = {text}\n")
        monkeypatch.setattr(check_types, "ROOT", root)
        assert check_types.main() == (name == "three")
    assert "Metadata fresh" not in said["one"]
    assert "Parsing" in said["one"]
    assert "Parsing" not in said["two"]
    assert "Incompatible types" in said["three"]
