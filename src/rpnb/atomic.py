"""Atomic file writes: a reader finds the old content or the new one, never a mix.

The bytes are written to a temporary file in the same folder, flushed to disk, and
renamed in one step (POSIX `rename`). If anything fails before that, the old file is
unchanged and the temporary one is removed. A killed process leaves its temporary file
behind; the file name contains the process id, and the next writer of the same file
removes those whose process has ended.

- A new file has the permissions of any new file (the umask); a file that is replaced
  keeps its permissions. The owner of a replaced file becomes the writing user.
- A symbolic link stays: the file that it points to is replaced.
- Anything but a regular file, such as a pipe or `/dev/null`, cannot be replaced and is
  written to directly.
- Newlines are written as they are given, on every system.
"""

import hashlib
import os
import platform
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, Literal, overload

# Windows would otherwise translate newlines.
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


class AtomicFile:
    """A file written under a temporary name that `commit` renames to its final name.

    For callers that write several files and rename them all at the end, or that must
    pass a path to other code; `open_atomic` is enough otherwise.

    Parameters
    ----------
    path : str or path
        File to write. Its folder must exist.

    Attributes
    ----------
    path : Path
        Path as given.
    temporary : Path
        File to write to before `commit`: an empty file in the same folder, or `path`
        itself if that is a pipe or a device.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        mode = _mode_of(self.path)
        if mode is not None and stat.S_ISDIR(mode):
            raise IsADirectoryError(f"{self.path} is a folder, not a file to write to")
        self._direct = mode is not None and not stat.S_ISREG(mode)
        self._target = Path(os.path.realpath(self.path))
        self._permissions = None if mode is None else stat.S_IMODE(mode)
        if self._direct:
            self.temporary = self.path
            return
        _remove_abandoned(self._target)
        owner = f"{_machine()}.{os.getpid()}"
        name = f".{self._target.name}.{owner}.{secrets.token_hex(6)}.tmp"
        self.temporary = self._target.parent / name
        # The content of a private file is private from the start.
        created_with = 0o666 if self._permissions is None else 0o600
        os.close(os.open(self.temporary, _CREATE, created_with))

    def commit(self) -> None:
        """Flush the written data to disk and rename the file to its final name."""
        if self._direct:
            return
        _flush(self.temporary, os.O_RDWR)
        if self._permissions is not None:
            os.chmod(self.temporary, self._permissions)
        os.replace(self.temporary, self._target)
        # Makes the new name durable, where the system lets a folder be opened.
        if os.name == "posix":
            _flush(self._target.parent, os.O_RDONLY)

    def discard(self) -> None:
        """Remove the temporary file, if it is still there."""
        if not self._direct:
            self.temporary.unlink(missing_ok=True)


@cache
def _machine() -> str:
    """Return four bytes, as text, that identify this machine and its last boot.

    A folder may be shared, and a process id is meaningless on another machine or in a
    container with its own process ids.
    """
    parts = [platform.node()]
    for place in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        with suppress(OSError):
            is_link = os.path.islink(place)
            parts.append(os.readlink(place) if is_link else Path(place).read_text())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def _remove_abandoned(target: Path) -> None:
    """Remove temporary files of a target left behind by processes that have ended.

    Files of other machines stay, and so do files that cannot be removed.
    """
    if os.name != "posix":  # on Windows, `os.kill` would end the process
        return
    pattern = re.compile(
        rf"\.{re.escape(target.name)}\.{_machine()}\.(\d{{1,10}})\.[0-9a-f]{{12}}\.tmp",
        re.ASCII,
    )
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            found = pattern.fullmatch(entry.name)
            if found and not _is_running(int(found[1])):
                with suppress(OSError):
                    os.unlink(entry.path)


def _is_running(process: int) -> bool:
    """Return whether there is a process with this id."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's process
        return True
    return True


def _mode_of(path: Path) -> int | None:
    """Return the type and permissions of a file, None if there is none."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _flush(path: Path, flags: int) -> None:
    """Wait until the content of a file, or the names in a folder, are on disk."""
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@overload
def open_atomic(
    path: str | os.PathLike[str], mode: Literal["w"]
) -> AbstractContextManager[IO[str]]: ...
@overload
def open_atomic(
    path: str | os.PathLike[str], mode: Literal["wb"]
) -> AbstractContextManager[IO[bytes]]: ...
@contextmanager
def open_atomic(
    path: str | os.PathLike[str], mode: Literal["w", "wb"]
) -> Iterator[IO[Any]]:
    """Open a file for atomic writing, as text (UTF-8) or bytes.

    The file has the new content once the block has ended; if the block raises an
    exception, the old content stays.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "poem.txt"
    >>> with open_atomic(path, "w") as file:
    ...     _ = file.write("Roses are red")
    ...     path.exists()
    False
    >>> path.read_text()
    'Roses are red'
    """
    pending = AtomicFile(path)
    try:
        text: dict[str, Any] = {"encoding": "utf-8", "newline": ""}
        with pending.temporary.open(mode, **(text if mode == "w" else {})) as file:
            yield file
        pending.commit()
    finally:
        pending.discard()


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file (UTF-8) atomically."""
    with open_atomic(path, "w") as file:
        file.write(text)


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a binary file atomically."""
    with open_atomic(path, "wb") as file:
        file.write(content)
