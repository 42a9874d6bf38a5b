"""Saving and loading: arrays and JSON in one file, no pickle, never half written.

A model file is an uncompressed `.npz` archive: NumPy arrays plus one entry,
`metadata.json`, that says what it is. Every entry has a checksum, verified on reading.
"""

import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rpnb.atomic import open_atomic

#: A file by its path, or an open one.
ModelFile: TypeAlias = str | os.PathLike[str] | IO[bytes]

FORMAT = "rpnb-model"
FORMAT_VERSION = 1
_METADATA = "metadata.json"
# What reading a damaged archive raises: a flipped bit may ask for a password
# (RuntimeError), for another compression (zlib.error, NotImplementedError) or for a
# place before the beginning of the file (OSError).
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
)


class ModelFileError(ValueError):
    """A file that is not a model this version of rpnb can load."""


def write_model(
    path: ModelFile,
    metadata: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> None:
    """Write a model file; by its path, whole or not at all: see `rpnb.atomic`."""
    header = {"format": FORMAT, "format_version": FORMAT_VERSION, **metadata}
    text = json.dumps(header, ensure_ascii=False, allow_nan=False, sort_keys=True)
    opened = (
        open_atomic(path, "wb")
        if isinstance(path, str | os.PathLike)
        else nullcontext(path)
    )
    with (
        opened as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
    ):
        # A fixed date: the same model gives the same bytes.
        archive.writestr(
            zipfile.ZipInfo(_METADATA), text.encode("utf-8", "surrogatepass")
        )
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w") as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


def attach_json(path: str | os.PathLike[str], name: str, value: Any) -> None:
    """Add a JSON entry to a model file that is not in use yet.

    Models ignore such entries; they are for what belongs to a model and is not part of
    it, such as how labels and categories were read.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=False)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_STORED) as archive:
        archive.writestr(
            zipfile.ZipInfo(f"{name}.json"), text.encode("utf-8", "surrogatepass")
        )


def read_attached(path: str | os.PathLike[str], name: str) -> Any:
    """Return a JSON entry that was added to a model file, None if there is none."""
    read_model(path)  # or say what is wrong with it
    with zipfile.ZipFile(path) as archive:
        entry = f"{name}.json"
        if entry not in archive.namelist():
            return None
        try:
            return json.loads(archive.read(entry))
        except _DAMAGE as error:
            raise ModelFileError(f"{path} is damaged: {error}") from error


def read_model(path: ModelFile) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the metadata and the arrays of a model file, or raise ModelFileError."""
    if not isinstance(path, str | os.PathLike):
        return _read_open("the model", path)
    with Path(path).open("rb") as file:
        return _read_open(str(path), file)


def _read_open(
    source: str, file: IO[bytes]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the metadata and the arrays of an open file, called `source` in errors."""
    if not zipfile.is_zipfile(file):
        raise ModelFileError(
            f"{source} is not a whole rpnb model file: it is another kind of file, "
            "or was cut off"
        )
    try:
        with zipfile.ZipFile(file) as archive:
            return _read_archive(source, archive)
    except ModelFileError:
        raise
    except _DAMAGE as error:
        raise ModelFileError(f"{source} is damaged: {error}") from error


def _read_archive(
    source: str, archive: zipfile.ZipFile
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the metadata and the arrays of an open model file."""
    names = archive.namelist()
    if _METADATA not in names:
        raise ModelFileError(
            f"{source} is an archive, but not an rpnb model: {_METADATA} is missing"
        )
    metadata = json.loads(archive.read(_METADATA))
    _check_header(source, metadata)
    arrays = {}
    for name in names:
        if name.endswith(".npy"):
            # Reading to the end makes the archive verify the checksum.
            with archive.open(name) as entry:
                arrays[name.removesuffix(".npy")] = np.lib.format.read_array(
                    entry, allow_pickle=False
                )
                entry.read()
    return metadata, arrays


def _check_header(source: str, metadata: Any) -> None:
    """Refuse what is not a model file of this format, or of a later version of it."""
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        raise ModelFileError(f"{source} is an archive, but not an rpnb model")
    version = metadata.get("format_version")
    if not isinstance(version, int) or version < 1:
        raise ModelFileError(f"{source} is damaged: its format version is {version!r}")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{source} was written in format {version} by rpnb "
            f"{metadata.get('rpnb_version', 'of a later version')}; this version reads "
            f"formats up to {FORMAT_VERSION}: upgrade rpnb"
        )


def checked_array(
    arrays: Mapping[str, NDArray[Any]],
    name: str,
    dtype: type[np.generic],
    shape: tuple[int, ...],
) -> NDArray[Any]:
    """Return one array of a model file, of the dtype and shape that it must have."""
    array = arrays.get(name)
    if array is None:
        raise ModelFileError(f"the model file is damaged: it has no array {name!r}")
    if array.dtype != dtype or array.shape != shape:
        raise ModelFileError(
            f"the model file is damaged: array {name!r} is {array.dtype}{array.shape}, "
            f"not {np.dtype(dtype)}{shape}"
        )
    return np.ascontiguousarray(array)
