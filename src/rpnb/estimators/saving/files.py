"""Model files: arrays and JSON in one archive, no pickle, written atomically.

A model file is an uncompressed `.npz` archive: NumPy arrays, one entry `metadata.json`
that describes them, and as the last entry `digest.json`, a SHA-256 over all others,
with a signature (HMAC-SHA-256) if it was written with a key. Nothing in a file is
trusted: entries must lie within the file, an array must have as many bytes as its shape
requires, and unknown entries are refused before they are read.
"""

import hashlib
import hmac
import json
import os
import re
import zipfile
import zlib
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, NamedTuple, NoReturn, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rpnb.atomic import open_atomic

FORMAT: Final = "rpnb-model"
FORMAT_VERSION: Final = 1
#: JSON entries that may be attached to a model, such as how labels were read from a
#: file.
ATTACHMENTS: Final = ("encoder", "spark")
#: Smallest length of a key in bytes.
SHORTEST_KEY: Final = 16
#: Largest size of a JSON entry in bytes: parsed, it takes twenty times as much memory.
LONGEST_JSON: Final = 1 << 25
_METADATA: Final = "metadata.json"
_DIGEST: Final = "digest.json"
_ARRAY: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)\.npy", re.ASCII)
_CHUNK: Final = 1 << 20
# The end record of an archive without comment, which also counts its entries.
_END: Final = b"PK\5\6"
_END_SIZE: Final = 22
_MOST_ENTRIES: Final = 1000
_LARGEST_DIRECTORY: Final = 1 << 20
# The header of an array, as NumPy writes it.
_MAGIC: Final = b"\x93NUMPY\x01\x00"
_HEADER: Final = re.compile(
    r"\{'descr': '([<>|][biuf][1248])', 'fortran_order': (True|False), "
    r"'shape': \(((?:[0-9]{1,19}, ?)*[0-9]{0,19})\), \} *\n",
    re.ASCII,
)
# Exceptions from reading a damaged archive: a flipped bit may require a password
# (RuntimeError), another compression (zlib.error, NotImplementedError) or an offset
# before the beginning of the file (OSError).
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    RecursionError,
    RuntimeError,
    ValueError,
)


#: Where a model is read from, or written to: a path, or a binary file that can seek.
ModelSource: TypeAlias = str | os.PathLike[str] | IO[bytes]


class ModelFileError(ValueError):
    """A file that is not a model which this version of rpnb can load.

    Examples
    --------
    >>> import io
    >>> import rpnb
    >>> try:
    ...     rpnb.load(io.BytesIO(b"no model"))
    ... except rpnb.ModelFileError as error:
    ...     print(str(error).partition(":")[0])
    the model file is not a complete rpnb model file
    """


class ModelContent(NamedTuple):
    """All that a model file holds."""

    metadata: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    attached: dict[str, Any]
    """JSON entries attached to the model"""


def name_of(path: ModelSource) -> str | Path:
    """Return the name of a model file in messages."""
    if isinstance(path, str | os.PathLike):
        return Path(path)
    return "the model file"


# Writing


def write_model(
    path: ModelSource,
    metadata: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    attached: Mapping[str, Any] | None = None,
    key: bytes | None = None,
) -> None:
    """Write a model file atomically; see `rpnb.atomic`.

    An open file is written to directly, for callers that rename it when it is complete.
    With a key the file is signed; `attached` are JSON entries, named in `ATTACHMENTS`.
    """
    key = check_key(key)
    header = {"format": FORMAT, "format_version": FORMAT_VERSION, **metadata}
    texts = {_METADATA: _to_json(header, sort_keys=True)}
    for name, value in (attached or {}).items():
        texts[f"{name}.json"] = _to_json(value, sort_keys=False)
    digest = _Digest()
    if isinstance(path, str | os.PathLike):
        opened: AbstractContextManager[IO[bytes]] = open_atomic(path, "wb")
    else:
        opened = nullcontext(path)
    with (
        opened as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
    ):
        # A fixed date: the same model gives the same bytes.
        for name, text in texts.items():
            archive.writestr(zipfile.ZipInfo(name), text)
            digest.add(name, hashlib.sha256(text).digest())
        for name, array in arrays.items():
            entry_name = f"{name}.npy"
            large = array.nbytes > (1 << 31) - _CHUNK
            with archive.open(
                zipfile.ZipInfo(entry_name), "w", force_zip64=large
            ) as entry:
                hashed = _HashedWriter(entry)
                np.lib.format.write_array(hashed, array, (1, 0), allow_pickle=False)
            digest.add(entry_name, hashed.hash.digest())
        archive.writestr(zipfile.ZipInfo(_DIGEST), _to_json(digest.values(key)))


def _to_json(value: Any, *, sort_keys: bool = True) -> bytes:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=sort_keys)
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) > LONGEST_JSON:
        raise ValueError(
            "the model cannot be saved: names, labels and categories must take at most "
            f"{LONGEST_JSON >> 20} MB, and take {len(encoded) >> 20}"
        )
    return encoded


def check_key(key: Any) -> bytes | None:
    """Return the key, or None if there is none; refuse invalid keys."""
    if key is None:
        return None
    if not isinstance(key, bytes) or len(key) < SHORTEST_KEY:
        # Without the key itself: messages end up in logs.
        given = f"{len(key)} bytes" if isinstance(key, bytes) else type(key).__name__
        raise ValueError(
            f"key must be bytes, at least {SHORTEST_KEY} of them, such as "
            f"secrets.token_bytes(32), got {given}"
        )
    return key


class _HashedWriter:
    """A file opened for writing, with the SHA-256 of what has been written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.hash = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.hash.update(data)
        return self._file.write(data)


class _Digest:
    """SHA-256 over all entries: over their SHA-256 and names, as `sha256sum` prints."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, name: str, digest: bytes) -> None:
        self._hash.update(f"{digest.hex()}  {name}\n".encode())

    def values(self, key: bytes | None) -> dict[str, str]:
        """Return the digest entry of a file, with a signature if there is a key."""
        found = {"sha256": self._hash.hexdigest()}
        if key is not None:
            message = FORMAT.encode() + b"\0" + self._hash.digest()
            found["hmac_sha256"] = hmac.digest(key, message, "sha256").hex()
        return found


# Reading


def read_model(
    path: ModelSource, key: bytes | None = None
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the metadata and the arrays of a model file, or raise ModelFileError."""
    with ModelReader(path) as file:
        return file.read(key)[:2]


def read_metadata(path: ModelSource) -> dict[str, Any]:
    """Return only the metadata of a model file; nothing else is verified."""
    with ModelReader(path) as file:
        return file.metadata


def read_attached(path: ModelSource, name: str, key: bytes | None = None) -> Any:
    """Return a JSON entry attached to a model file, None if there is none."""
    with ModelReader(path) as file:
        return file.read(key).attached.get(name)


class ModelReader:
    """An open model file: reads its metadata at once, the rest with `read`.

    The file may have any content; any fault raises ModelFileError.
    """

    metadata: dict[str, Any]
    """what `metadata.json` holds"""
    array_names: list[str]
    """the arrays that the file has"""

    def __init__(self, path: ModelSource) -> None:
        self._path = name_of(path)
        if isinstance(path, str | os.PathLike):
            self._file: IO[bytes] = Path(path).open("rb")  # noqa: SIM115 - closed by `_close`
            self._start = None
        else:
            self._file = path
            self._start = path.tell()
        try:
            self._open()
        except BaseException:
            self._close()
            raise

    def _close(self) -> None:
        """Close the file, or restore the position of a file that was already open."""
        if self._start is None:
            self._file.close()
        else:
            self._file.seek(self._start)

    def _open(self) -> None:
        try:
            self._size = self._file.seek(0, os.SEEK_END)
            self._check_end()
            self._archive = zipfile.ZipFile(self._file)
            self._entries = self._check_directory(self._archive.infolist())
            if _METADATA not in self._entries:
                raise ModelFileError(
                    f"{self._path} is an archive, but not an rpnb model: {_METADATA} "
                    "is missing"
                )
            self._metadata_hash = hashlib.sha256()
            self.metadata = self._json(_METADATA, self._metadata_hash)
            self._check_header()
            self._check_names()
        except ModelFileError:
            raise
        except _DAMAGE as error:
            self._damaged(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._close()

    def _damaged(self, what: object) -> NoReturn:
        cause = what if isinstance(what, BaseException) else None
        raise ModelFileError(f"{self._path} is damaged: {what}") from cause

    def _check_end(self) -> None:
        """Refuse a file that does not end as an archive, or with a large directory."""
        self._file.seek(max(self._size - _END_SIZE, 0))
        end = self._file.read(_END_SIZE)
        if len(end) < _END_SIZE or end[:4] != _END or end[-2:] != b"\0\0":
            raise ModelFileError(
                f"{self._path} is not a complete rpnb model file: it is another kind "
                "of file, or was cut off"
            )
        entries = int.from_bytes(end[10:12], "little")
        directory = int.from_bytes(end[12:16], "little")
        if self._size < 1 << 32 and (
            entries > _MOST_ENTRIES or directory > _LARGEST_DIRECTORY
        ):
            self._damaged(f"its directory has {entries} entries, {directory} bytes")

    def _check_directory(
        self, directory: list[zipfile.ZipInfo]
    ) -> dict[str, zipfile.ZipInfo]:
        """Return the entries by name; they must be uncompressed and unique."""
        entries: dict[str, zipfile.ZipInfo] = {}
        for info in directory:
            if info.filename in entries:
                self._damaged(f"it has {info.filename!r} twice")
            if (
                info.compress_type != zipfile.ZIP_STORED
                or info.compress_size != info.file_size
            ):
                self._damaged(
                    f"its entry {info.filename!r} is compressed, which model files "
                    "never are"
                )
            entries[info.filename] = info
        if sum(info.file_size for info in directory) > self._size:
            self._damaged("its entries are longer than the file")
        return entries

    def _check_header(self) -> None:
        """Refuse other files, and model files of a later version."""
        metadata: Any = self.metadata
        if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
            raise ModelFileError(f"{self._path} is an archive, but not an rpnb model")
        version = metadata.get("format_version")
        if type(version) is not int or version < 1:
            self._damaged(f"its format version is {version!r}")
        if version > FORMAT_VERSION:
            raise ModelFileError(
                f"{self._path} was written in format {version} by rpnb "
                f"{metadata.get('rpnb_version', 'of a later version')}; this version "
                f"reads formats up to {FORMAT_VERSION}: upgrade rpnb"
            )

    def _check_names(self) -> None:
        """Refuse entries that no model has."""
        self.array_names = []
        json_entries = {_METADATA, _DIGEST, *(f"{name}.json" for name in ATTACHMENTS)}
        for name in self._entries:
            array = _ARRAY.fullmatch(name)
            if array is not None:
                self.array_names.append(array[1])
            elif name not in json_entries:
                self._damaged(f"it has an entry {name!r}, which no model has")

    def require_arrays(self, names: Collection[str]) -> None:
        """Refuse the file unless it has exactly these arrays."""
        for name in names:
            if name not in self.array_names:
                self._damaged(f"it has no array {name!r}")
        for name in self.array_names:
            if name not in names:
                self._damaged(f"it has an array {name!r}, which no such model has")

    def read(self, key: bytes | None = None) -> ModelContent:
        """Read the rest and verify the digest and, with a key, the signature.

        Raises
        ------
        ModelFileError
            If anything differs from what was written, or if a key is given and the file
            was not signed with it.
        """
        key = check_key(key)
        arrays: dict[str, NDArray[Any]] = {}
        attached: dict[str, Any] = {}
        digest = _Digest()
        stated: Any = None
        try:
            for name in self._entries:
                if stated is not None:
                    self._damaged(f"{name!r} comes after {_DIGEST}")
                hashed = hashlib.sha256()
                if name == _DIGEST:
                    stated = self._json(name, hashed)
                    continue
                if name == _METADATA:
                    hashed = self._metadata_hash
                elif name.endswith(".npy"):
                    arrays[name.removesuffix(".npy")] = self._array(name, hashed)
                else:
                    attached[name.removesuffix(".json")] = self._json(name, hashed)
                digest.add(name, hashed.digest())
        except ModelFileError:
            raise
        except _DAMAGE as error:
            self._damaged(error)
        self._verify(stated, digest, key)
        return ModelContent(self.metadata, arrays, attached)

    def _verify(self, stated: Any, digest: _Digest, key: bytes | None) -> None:
        """Compare the digest in the file with the computed one."""
        found = digest.values(key)
        if stated is None:
            self._damaged(f"{_DIGEST} is missing")
        if (
            not isinstance(stated, dict)
            or not set(stated) <= {"sha256", "hmac_sha256"}
            or not all(
                isinstance(value, str) and value.isascii() for value in stated.values()
            )
            or stated.get("sha256") != found["sha256"]
        ):
            self._damaged(
                "its parts were not saved together: their SHA-256 is not the one in "
                "the file"
            )
        if key is None:
            return
        if "hmac_sha256" not in stated:
            raise ModelFileError(f"{self._path} is not signed, and a key was given")
        if not hmac.compare_digest(stated["hmac_sha256"], found["hmac_sha256"]):
            raise ModelFileError(
                f"{self._path} was not signed with this key, or was changed since"
            )

    def _json(self, name: str, hashed: Any) -> Any:
        """Return the value of a JSON entry; its bytes are added to a hash."""
        if self._entries[name].file_size > LONGEST_JSON:
            self._damaged(f"{name} has more than {LONGEST_JSON >> 20} MB")
        content = self._archive.read(name)
        hashed.update(content)
        return json.loads(content, parse_constant=_refuse_constant)

    def _array(self, name: str, hashed: Any) -> NDArray[Any]:
        """Return an array, using no more memory than the entry has bytes.

        Its bytes are added to a hash.
        """
        size = self._entries[name].file_size
        with self._archive.open(name) as entry:
            magic = entry.read(len(_MAGIC) + 2)
            length = int.from_bytes(magic[len(_MAGIC) :], "little")
            header = entry.read(length)
            parts = _HEADER.fullmatch(header.decode("latin1"))
            if magic[: len(_MAGIC)] != _MAGIC or parts is None:
                self._damaged(f"{name} is not an array of numbers")
            dtype = np.dtype(parts[1])
            shape = tuple(int(part) for part in parts[3].split(",") if part.strip())
            count = 1
            for part in shape:
                count *= part
            if len(magic) + length + count * dtype.itemsize != size:
                self._damaged(
                    f"{name} has {size} bytes, not those of {dtype.name}{shape}"
                )
            hashed.update(magic + header)
            values = np.empty(count, dtype)
            octets = values.view(np.uint8)
            done = 0
            # Reading to the end makes the archive module verify the checksum.
            while chunk := entry.read(_CHUNK):
                hashed.update(chunk)
                octets[done : done + len(chunk)] = np.frombuffer(chunk, np.uint8)
                done += len(chunk)
            if done < octets.shape[0]:
                raise EOFError(f"{name} ends early")
        native = values.astype(dtype.newbyteorder("="), copy=False)
        return native.reshape(shape, order="F" if parts[2] == "True" else "C")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def checked_array(
    arrays: Mapping[str, NDArray[Any]],
    name: str,
    dtype: type[np.generic],
    shape: tuple[int, ...],
) -> NDArray[Any]:
    """Return one array of a model file after checking its dtype and shape."""
    array = arrays.get(name)
    if array is None:
        raise ModelFileError(f"the model file is damaged: it has no array {name!r}")
    if array.dtype != dtype or array.shape != shape:
        raise ModelFileError(
            f"the model file is damaged: array {name!r} is {array.dtype}{array.shape}, "
            f"not {np.dtype(dtype)}{shape}"
        )
    return np.ascontiguousarray(array)
