"""Model files that are unpacked, changed, and repacked with valid checksums."""

import json
from hashlib import sha256
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

Parts = dict[str, Any]


def taken_apart(content: bytes) -> Parts:
    """The entries of an archive: bytes by name, but JSON as values."""
    with ZipFile(BytesIO(content)) as archive:
        parts: Parts = {name: archive.read(name) for name in archive.namelist()}
    parts["metadata.json"] = json.loads(parts["metadata.json"])
    return parts


def put_together(parts: Parts, *, digest: bool = True) -> bytes:
    """The archive of these entries, by default with a correct digest."""
    stream = BytesIO()
    lines: list[str] = []
    with ZipFile(stream, "w") as archive:
        for name, part in parts.items():
            data = part if type(part) is bytes else json.dumps(part).encode()
            if name == "digest.json" and digest:
                found = sha256("".join(lines).encode()).hexdigest()
                data = json.dumps({"sha256": found}).encode()
            archive.writestr(name, data)
            lines.append(f"{sha256(data).hexdigest()}  {name}\n")
    return stream.getvalue()


def npy(array: NDArray[Any], *, allow_pickle: bool = False) -> bytes:
    """The bytes of an array, as NumPy writes them."""
    stream = BytesIO()
    np.save(stream, array, allow_pickle=allow_pickle)
    return stream.getvalue()


def array_in(parts: Parts, name: str) -> NDArray[Any]:
    """A copy of an array of a model file."""
    array: NDArray[Any] = np.load(BytesIO(parts[f"{name}.npy"]))
    return array
