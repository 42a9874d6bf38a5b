"""Bytes from a file, compressed or not, or from the standard input."""

import bz2
import gzip
import io
import lzma
import os
import select
import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from rpnb.files.reading import FileError

#: Number of bytes of a block.
BLOCK = 1 << 22
#: The path that stands for the standard input.
STANDARD_INPUT = "-"
#: Endings of the names of compressed files.
COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zstd", ".zip")


class ByteSource:
    """Bytes of a file, which are decompressed if they begin like a compressed file.

    The path "-" stands for the standard input.
    """

    def __init__(self, path: str) -> None:
        self.name = "standard input" if path == STANDARD_INPUT else path
        self.seekable = path != STANDARD_INPUT and Path(path).is_file()
        self._size = 0
        self.conversion: Callable[[bytes], bytes] | None = None
        self._ended = False
        try:
            if path == STANDARD_INPUT:
                self._raw: IO[bytes] = sys.stdin.buffer
            else:
                self._raw = open(path, "rb")  # noqa: SIM115 - closed by close()
                self._size = os.fstat(self._raw.fileno()).st_size
            buffered = self._raw
            if not isinstance(buffered, io.BufferedReader):
                buffered = io.BufferedReader(self._raw)
            begin = buffered.peek(8)[:8]
        except OSError as error:
            raise FileError(f"{self.name}: {error.strerror or error}") from error
        found = next((m for m in _COMPRESSIONS if begin.startswith(m)), None)
        self._compression: str | None = None
        self._file: Any = buffered
        if found is not None:
            self._compression, decompressed = _COMPRESSIONS[found]
            self._file = decompressed(buffered)
        elif begin.startswith(_ZIP):
            if not self.seekable:
                raise FileError(
                    f"{self.name}: a zip file cannot be read from a pipe; unpack it"
                )
            self._compression = "zip"
            try:
                self._file = _unzipped(buffered)
            except FileError as error:
                buffered.close()
                raise FileError(f"{self.name}: {error}") from error

    def convert(self, function: Callable[[bytes], bytes]) -> None:
        """Apply a function to all bytes that are read from now on.

        At the end, it is called with no bytes.
        """
        self.conversion = function

    def read(self, size: int = BLOCK) -> bytes:
        """Return up to `size` bytes, none at the end.

        From a pipe, it returns whatever is available, at least one byte, because a
        stream may pause. After a conversion, there may be more than `size` bytes.
        """
        if self.conversion is None:
            return self._read(size)
        while not self._ended:
            data = self._read(size)
            self._ended = not data
            converted = self.conversion(data)
            if converted:
                return converted
        return b""

    def _read(self, size: int) -> bytes:
        """Read up to `size` bytes; name the damage of a compressed file."""
        what = self._compression
        try:
            if self.seekable or what == "zstd":
                whole: bytes = self._file.read(size)
                return whole
            data: bytes = self._file.read1(size)
            while data and len(data) < size and self._has_more():
                more = self._file.read1(size - len(data))
                if not more:
                    break
                data += more
            return data
        except EOFError as error:
            raise FileError(f"the {what} file is truncated; copy it again") from error
        except _DAMAGE as error:
            raise FileError(f"not a valid {what} file ({error})") from error
        except OSError as error:
            reason = " ".join(str(error.strerror or error).split())
            if what is not None and error.errno is None:
                if "runcated" in reason:
                    reason = f"the {what} file is truncated; copy it again"
                else:
                    reason = f"not a valid {what} file ({reason})"
            raise FileError(reason) from error

    def _has_more(self) -> bool:
        """Return whether a pipe can be read without waiting."""
        try:
            return bool(select.select([self._raw], [], [], 0.0)[0])
        except (OSError, ValueError):  # not a pipe, or a system that cannot tell
            return False

    def share(self) -> float | None:
        """Return the share of the file that has been read; None if unknown."""
        if self._size == 0:
            return None
        try:
            return min(self._raw.tell() / self._size, 1.0)
        except (OSError, ValueError):
            return None

    def close(self) -> None:
        """Close the file; the standard input stays open."""
        if self._compression not in (None, "zstd"):
            self._file.close()
        if self._raw is not sys.stdin.buffer:
            self._raw.close()


_ZIP = b"PK\x03\x04"
_DAMAGE = (gzip.BadGzipFile, zlib.error, lzma.LZMAError, zipfile.BadZipFile)


def _unzipped(file: Any) -> IO[bytes]:
    """Open the only file in a zip file."""
    try:
        archive = zipfile.ZipFile(file)
        return archive.open(_only_member(archive))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise FileError(f"not a zip file that can be read ({error})") from error


def _only_member(archive: zipfile.ZipFile) -> str:
    """Return the name of the only file in an archive, apart from those of macOS."""
    names = [
        each.filename
        for each in archive.infolist()
        if not each.is_dir() and not each.filename.startswith("__MACOSX/")
    ]
    if len(names) != 1:
        shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        what = f"{len(names)} files ({shown})" if names else "no files"
        raise FileError(f"a zip file with {what}, but it must have one; unpack it")
    return names[0]


def name_in_zip(path: str) -> str:
    """Return the name of the only file in a zip file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _only_member(archive)
    except (OSError, zipfile.BadZipFile, FileError) as error:
        raise FileError(f"{path}: {error}") from error


def standard_input_begins() -> bytes:
    """Return the first bytes of the standard input, decompressed; they stay unread.

    Returns no bytes if the compression does not allow it.
    """
    stream: Any = sys.stdin.buffer
    try:
        if hasattr(stream, "peek"):
            head = bytes(stream.peek(BLOCK))
        else:
            place = stream.tell()
            head = bytes(stream.read(BLOCK))
            stream.seek(place)
    except OSError:  # the error is reported when it is read
        return b""
    looks: dict[bytes, Callable[[], Any]] = {
        b"\x1f\x8b": lambda: zlib.decompressobj(31),
        b"BZh": bz2.BZ2Decompressor,
        b"\xfd7zXZ\x00": lzma.LZMADecompressor,
    }
    for begin, made in looks.items():
        if head.startswith(begin):
            try:
                found: bytes = made().decompress(head)
            except (OSError, zlib.error, lzma.LZMAError):
                return b""
            return found
    return head


def _zstd(file: IO[bytes]) -> Any:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise FileError(
            "reading zstd files needs pyarrow: pip install 'rpnb[files]'"
        ) from error
    # The caller, who opened the file, closes it.
    return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")


# First bytes of compressed files, with the name and the reader of each compression.
_COMPRESSIONS: Mapping[bytes, tuple[str, Callable[[Any], Any]]] = {
    b"\x1f\x8b": ("gzip", lambda file: gzip.GzipFile(fileobj=file)),
    b"BZh": ("bzip2", bz2.BZ2File),
    b"\xfd7zXZ\x00": ("xz", lzma.LZMAFile),
    b"\x28\xb5\x2f\xfd": ("zstd", _zstd),
}
