"""Target: model files, damaged at random or crafted with valid checksums."""

import io
import json
import zipfile
from hashlib import sha256
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzzer import models
from fuzzer.target import (
    Case,
    Target,
    choose,
    from_text,
    report,
    require_no_temporary,
    to_text,
)
from rpnb.estimators.saving.files import ModelFileError

_NUMBERS = (
    0,
    1,
    -1,
    2,
    3,
    7,
    100,
    255,
    256,
    2**31 - 1,
    2**31,
    2**62,
    2**63 - 1,
    -(2**63),
)
_REALS = (0.0, -0.0, 1.0, -1.0, 1e-320, 1e150, -1e150, 1e308, np.inf, -np.inf, np.nan)
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 3, 2**31, 2**63, 2**70, 10**400, 0.5, -1e308, 1e308),
    *("", "a", "\ud800", "auto", "all", [], [[]], {}, [1, 2, 3], ["a", "b", "c"]),
)


def make(rng: np.random.Generator) -> Case:
    """Return a damaged, spliced or crafted file."""
    name = choose(rng, models.names())
    content = models.file_of(name)
    kind = choose(rng, ("flip", "cut", "splice", "noise", *["array", "json"] * 4))
    if kind == "flip":
        damaged = bytearray(content)
        for _ in range(int(rng.integers(1, 5))):
            damaged[rng.integers(len(damaged))] ^= 1 << int(rng.integers(8))
        content = bytes(damaged)
    elif kind == "cut":
        content = content[: rng.integers(len(content))] + bytes(rng.integers(3))
    elif kind == "noise":
        start = int(rng.integers(len(content)))
        noise = rng.bytes(int(rng.integers(1, 40)))
        content = content[:start] + noise + content[start + len(noise) :]
    elif kind == "splice":
        parts, others = (
            _apart(content),
            _apart(models.file_of(choose(rng, models.names()))),
        )
        both = sorted(set(parts) & set(others))
        for entry in both:
            if rng.random() < 0.3:
                parts[entry] = others[entry]
        content = _together(parts, digest=rng.random() < 0.7)
    else:
        parts = _apart(content)
        for _ in range(int(rng.integers(1, 4))):
            (_craft_array if kind == "array" else _craft_json)(rng, parts)
        content = _together(parts)
    case = {"estimator": name, "content": to_text(content)}
    if kind in ("flip", "cut", "noise"):
        case["original"] = to_text(models.file_of(name))
    return case


def _apart(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _together(parts: dict[str, bytes], *, digest: bool = True) -> bytes:
    stream, lines = io.BytesIO(), ""
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in parts.items():
            if name == "digest.json" and digest:
                data = json.dumps(
                    {"sha256": sha256(lines.encode()).hexdigest()}
                ).encode()
            archive.writestr(name, data)
            lines += f"{sha256(data).hexdigest()}  {name}\n"
    return stream.getvalue()


def _craft_array(rng: np.random.Generator, parts: dict[str, bytes]) -> None:
    """Change the values, the shape, the type or the header of an array."""
    entry = choose(rng, [name for name in parts if name.endswith(".npy")])
    try:
        array = np.load(io.BytesIO(parts[entry]))
    except (ValueError, MemoryError, OverflowError, SyntaxError, TokenError):
        return  # its header was changed before
    how = rng.random()
    with np.errstate(all="ignore"):
        if how < 0.7 and array.size > 0:
            array = _other_values(rng, array)
        elif how < 0.8:
            array = np.resize(array, tuple(rng.integers(0, 5, int(rng.integers(0, 4)))))
        elif how < 0.9:
            array = array.astype(choose(rng, (np.int8, np.float64, np.int64, np.bool_)))
    stream = io.BytesIO()
    np.save(stream, array)
    data = stream.getvalue()
    if how >= 0.9:
        claim = f"({choose(rng, _NUMBERS)},)".encode()
        data = data.replace(str(array.shape).encode(), claim)
    parts[entry] = data


def _other_values(rng: np.random.Generator, array: NDArray[Any]) -> NDArray[Any]:
    flat = array.reshape(-1).copy()
    count = int(choose(rng, (1, 1, 2, flat.shape[0])))
    places = rng.integers(flat.shape[0], size=count)
    if rng.random() < 0.2:
        rng.shuffle(flat)
    elif flat.dtype == np.bool_:
        flat.view(np.uint8)[places] = rng.integers(0, 256, count)
    elif flat.dtype.kind == "f":
        flat[places] = (
            choose(rng, _REALS) if rng.random() < 0.7 else rng.normal(size=count)
        )
    else:
        info = np.iinfo(flat.dtype)
        value = (
            choose(rng, _NUMBERS) if rng.random() < 0.5 else int(rng.integers(-5, 70))
        )
        flat[places] = min(max(value, int(info.min)), int(info.max))
    return flat.reshape(array.shape)


def _craft_json(rng: np.random.Generator, parts: dict[str, bytes]) -> None:
    """Change, add or remove a value somewhere in the metadata."""
    metadata = json.loads(parts["metadata.json"])
    holder = metadata
    for _ in range(int(rng.integers(0, 3))):
        inner = [
            value for value in holder.values() if isinstance(value, dict) and value
        ]
        if inner:
            holder = choose(rng, inner)
    key = choose(rng, [*holder, "more"])
    if rng.random() < 0.15:
        holder.pop(key, None)
    else:
        holder[key] = choose(rng, _VALUES)
    text = json.dumps(metadata, ensure_ascii=False)
    parts["metadata.json"] = text.encode("utf-8", "surrogatepass")


def run(case: Case, folder: Path) -> None:
    """Load the file, which must be refused or give a model that works."""
    name = case["estimator"]
    path = folder / "model.rpnb"
    path.write_bytes(from_text(case["content"]))
    try:
        model = models.class_of(name).load(path)
    except ModelFileError:
        return
    if "original" in case:
        original = models.load(name, from_text(case["original"]))
        if models.saved(model) != models.saved(original):
            report("a damaged file was loaded as another model")
    models.use(model)
    model.save(path)
    require_no_temporary(folder)
    models.class_of(name).load(path)  # after more learning


TARGET = Target(make, run, models.prepare)
