"""Atomic file writes."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import rpnb.atomic
from rpnb.atomic import AtomicFile, open_atomic, write_bytes, write_text

posix = pytest.mark.skipif(os.name != "posix", reason="a matter of POSIX")


def fail(*_arguments: Any, **_named: Any) -> None:
    raise OSError("no space left")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_text_and_bytes_arrive_as_given(tmp_path: Path) -> None:
    write_text(tmp_path / "text", "ä\nb\r\n")
    write_bytes(str(tmp_path / "bytes"), b"\x00\n")
    assert (tmp_path / "text").read_bytes() == "ä\nb\r\n".encode()
    assert (tmp_path / "bytes").read_bytes() == b"\x00\n"
    assert names(tmp_path) == ["bytes", "text"]


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_text(path, "old")
    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(OSError, match="no space"):
            write_text(path, "new")
    assert names(tmp_path) == ["file"]
    assert path.read_text() == "old"


def test_a_block_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_text(path, "old")

    def write_half() -> None:
        with open_atomic(path, "w") as file:
            file.write("half of the new")
            file.flush()
            assert path.read_text() == "old"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert names(tmp_path) == ["file"]
    assert path.read_text() == "old"


def test_the_bytes_are_on_the_disk_before_the_file_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    flush, rename = os.fsync, os.replace

    def note_flush(descriptor: int) -> None:
        status = os.fstat(descriptor)
        folder = stat.S_ISDIR(status.st_mode)
        steps.append("folder" if folder else f"{status.st_size} bytes")
        flush(descriptor)

    def note_rename(source: Path, target: Path) -> None:
        steps.append("renamed")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", note_flush)
    monkeypatch.setattr(os, "replace", note_rename)
    write_text(tmp_path / "file", "1234567")
    assert steps == ["7 bytes", "renamed", "folder"]


def test_a_folder_is_not_flushed_where_it_cannot_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, descriptor = AtomicFile(tmp_path / "file"), os.open
    opened: list[Path] = []

    def note_open(path: Path, flags: int) -> int:
        opened.append(path)
        return descriptor(path, flags)

    with monkeypatch.context() as patch:
        patch.setattr(os, "name", "nt")
        patch.setattr(os, "open", note_open)
        file.commit()
    assert opened == [file.temporary]


@posix
def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write_text(tmp_path / "file", "")
        assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(mask)


@posix
@pytest.mark.parametrize("permissions", [0o600, 0o664, 0o755])
def test_a_replaced_file_keeps_its_permissions(
    permissions: int, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.touch()
    path.chmod(permissions)
    with open_atomic(path, "w"):
        (temporary,) = set(tmp_path.iterdir()) - {path}
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == permissions


@posix
@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_its_target_is_written(exists: bool, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    if exists:
        (folder / "file").write_text("old")
    (tmp_path / "link").symlink_to(folder / "file")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (folder / "file").read_text() == "new"
    assert names(folder) == ["file"]
    assert names(tmp_path) == ["elsewhere", "link"]


@posix
def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    path, read = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    write_bytes(path, b"through the pipe")
    reader.join()
    assert read == [b"through the pipe"]
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert names(tmp_path) == ["pipe"]


@posix
def test_a_device_stays_a_device() -> None:
    write_text(os.devnull, "gone")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_text(tmp_path, "")
    with pytest.raises(FileNotFoundError):
        write_text(tmp_path / "no such folder" / "file", "")
    assert names(tmp_path) == []


def test_several_files_are_named_together(tmp_path: Path) -> None:
    files = [AtomicFile(tmp_path / name) for name in "ab"]
    for file in files:
        file.temporary.write_text(file.path.name)
    assert not (tmp_path / "a").exists()
    files[0].commit()
    files[1].discard()
    files[0].discard()
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text() == "a"


# What a kill leaves behind


@posix
def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    # The module alone: the package would take seconds to import.
    script = (
        "import os, runpy, signal, sys; atomic = runpy.run_path(sys.argv[1]);"
        "atomic['AtomicFile'](sys.argv[2]); os.kill(os.getpid(), signal.SIGKILL)"
    )
    module = rpnb.atomic.__file__
    path = tmp_path / "file"
    for target in (path, path, tmp_path / "another"):
        words = [sys.executable, "-c", script, str(module), str(target)]
        subprocess.run(words, check=False)  # noqa: S603 - our own words
    left = names(tmp_path)
    # The second kill has removed what the first left.
    assert [name.split(".")[1] for name in left] == ["another", "file"]
    write_text(path, "new")
    assert names(tmp_path) == [left[0], "file"]


@posix
def test_the_temporary_file_of_a_process_that_runs_is_let_alone(
    tmp_path: Path,
) -> None:
    path = tmp_path / "file"
    mine, again = AtomicFile(path), AtomicFile(path)
    mine.temporary.write_text("first")
    again.temporary.write_text("second")
    elsewhere = mine.temporary.with_name(".file.00000000.999999999.aaaaaaaaaaaa.tmp")
    beside = tmp_path / ".file.backup.tmp"
    for other in (elsewhere, beside):  # of another machine, and of the user
        other.write_text("")
    again.commit()
    mine.commit()
    assert path.read_text() == "first"
    assert names(tmp_path) == [elsewhere.name, beside.name, "file"]


@posix
def test_whatever_cannot_be_removed_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = AtomicFile(tmp_path / "file").temporary
    number = str(os.getpid())

    def ended(process: int, _signal: int) -> None:
        assert str(process) == number
        raise ProcessLookupError

    remove = os.unlink

    def keep(path: Any, **named: Any) -> None:
        if str(path) == str(left):
            fail()
        remove(path, **named)

    with monkeypatch.context() as patch:
        patch.setattr(os, "kill", ended)
        patch.setattr(os, "unlink", keep)
        write_text(tmp_path / "file", "new")
        assert left.exists()
    assert (tmp_path / "file").read_text() == "new"
    with monkeypatch.context() as patch:
        patch.setattr(os, "kill", ended)
        write_text(tmp_path / "file", "newer")
    assert names(tmp_path) == ["file"]


@posix
def test_another_users_process_counts_as_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = AtomicFile(tmp_path / "file").temporary

    def forbidden(_process: int, _signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", forbidden)
    write_text(tmp_path / "file", "new")
    assert left.exists()
