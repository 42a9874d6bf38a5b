"""Random arguments: `make_*` describe them as JSON, `build` creates them."""

from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from fuzzer.target import choose

_DTYPES = (
    "f8",
    "f8",
    "f8",
    "f4",
    "f2",
    "i8",
    "i1",
    "u8",
    "?",
    "c16",
    "O",
    "U3",
    "f16",
    ">f8",
)
_SPARSE = ("csr", "csc", "coo", "bsr", "lil", "dia", "dok")
_WILD = ("nan", "inf", "-inf", "1e150", "1e151", "-1e300", "1e308", "1e-320")
_SCALARS: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        3,
        7,
        100,
        2**31,
        2**63,
        0.5,
        -0.5,
        1e-300,
        1e300,
    ),
    *("", "a", "auto", "all", "log", "product", "mistakes", "diagonal", "full"),
    {"huge": 400},
    {"float": "nan"},
    {"float": "inf"},
    [],
    [1, 2],
    ["a", "b"],
)


def make_rows(rng: np.random.Generator, p: int) -> dict[str, Any]:
    """Describe an argument X, mostly rows of p features in any form, some damaged."""
    if rng.random() < 0.06:
        return {"value": choose(rng, _SCALARS)}
    width = p if rng.random() < 0.85 else int(choose(rng, (0, 1, p - 1, p + 1, 50)))
    described: dict[str, Any] = {
        "seed": int(rng.integers(2**31)),
        "shape": [int(choose(rng, (0, 1, 1, 2, 5, 30, 70))), width],
        "dtype": choose(rng, _DTYPES),
        "form": choose(
            rng,
            ("array",) * 6
            + _SPARSE * 2
            + (
                "list",
                "frame",
                "masked",
                "F",
                "strided",
                "readonly",
                "matrix",
                "spframe",
            ),
        ),
    }
    if rng.random() < 0.25:
        described["wild"] = choose(rng, _WILD)
    if rng.random() < 0.4:
        described["damage"] = int(rng.integers(2**31))
    if rng.random() < 0.05:
        described["shape"] = [int(n) for n in rng.integers(0, 4, rng.integers(0, 5))]
    return described


def make_labels(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Describe an argument y or classes."""
    if rng.random() < 0.06:
        return {"value": choose(rng, _SCALARS)}
    size = n if rng.random() < 0.9 else int(rng.integers(0, 80))
    kinds = ("text",) * 8 + (
        "number",
        "mixed",
        "float",
        "bool",
        "object",
        "nan",
        "long",
        "surrogate",
        "column",
        "bytes",
    )
    return {"seed": int(rng.integers(2**31)), "n": size, "labels": choose(rng, kinds)}


def make_weights(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Describe an argument sample_weight."""
    if rng.random() < 0.5:
        return {"value": None}
    kind = choose(rng, ("ones", "large", "small", "zero", "negative", "nan", "short"))
    return {"seed": int(rng.integers(2**31)), "n": n, "weights": kind}


def make_value(rng: np.random.Generator) -> dict[str, Any]:
    """Describe a parameter of any type."""
    return {"value": choose(rng, _SCALARS)}


def build(described: dict[str, Any]) -> Any:
    """Return the described argument."""
    if "value" in described:
        return _scalar(described["value"])
    rng = np.random.default_rng(described["seed"])
    if "labels" in described:
        return _labels(rng, described["n"], described["labels"])
    if "weights" in described:
        return _weights(rng, described["n"], described["weights"])
    return _rows(rng, described)


def _scalar(value: Any) -> Any:
    if isinstance(value, dict) and "huge" in value:
        return 10 ** value["huge"]
    if isinstance(value, dict) and "float" in value:
        return float(value["float"])
    return value


def _labels(rng: np.random.Generator, n: int, kind: str) -> Any:
    numbers = rng.integers(0, 3, n)
    text = np.array(["a", "b", "c"])[numbers]
    if kind == "number":
        return numbers
    if kind == "float":
        return numbers + 0.5 * (rng.random(n) < 0.1)
    if kind == "bool":
        return numbers > 0
    if kind == "mixed":
        return [label if i % 2 else 3 for i, label in enumerate(text.tolist())]
    if kind == "object":
        return np.array([*text.tolist(), None], dtype=object)[: max(n, 1)]
    if kind == "nan":
        return np.where(numbers == 1, np.nan, 1.0)
    if kind == "long":
        return np.array(["x" * 5000, "a"])[numbers % 2]
    if kind == "surrogate":
        return np.array(["\ud800", "a", "\x00"])[numbers]
    if kind == "column":
        return text[:, None]
    if kind == "bytes":
        return text.astype("S1")
    return text


def _weights(rng: np.random.Generator, n: int, kind: str) -> Any:
    weights = {
        "ones": np.ones(n),
        "large": 10.0 ** rng.integers(0, 101, n),
        "small": 10.0 ** -rng.integers(0, 320, n).astype(np.float64),
        "zero": (rng.random(n) < 0.5).astype(np.float64),
        "negative": -np.ones(n),
        "nan": np.full(n, np.nan),
        "short": np.ones(n + 1),
    }
    return weights[kind]


def _rows(rng: np.random.Generator, described: dict[str, Any]) -> Any:
    shape, dtype, form = (
        tuple(described["shape"]),
        described["dtype"],
        described["form"],
    )
    values = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4)
    if "wild" in described and values.size > 0:
        values.reshape(-1)[rng.integers(values.size)] = float(described["wild"])
    with np.errstate(all="ignore"):
        # An array, even without axes.
        array = np.asarray(np.round(values, 3) if dtype != "O" else values, dtype)
    if form in _SPARSE:
        return _sparse(rng, values, form, described.get("damage"))
    if form == "list":
        return array.tolist()
    if form == "masked":
        return np.ma.masked_array(array, rng.random(shape) < 0.2)
    if form == "F":
        return np.asfortranarray(array)
    if form == "strided":
        return np.repeat(array, 2, axis=0)[::2] if array.ndim > 0 else array
    if form == "readonly":
        array.flags.writeable = False
        return array
    if form == "matrix" and array.ndim == 2 and array.dtype.kind == "f":
        return np.asmatrix(array)
    if form in ("frame", "spframe") and array.ndim == 2:
        return _frame(array, form)
    return array


def _frame(array: Any, form: str) -> Any:
    pandas = import_module("pandas")

    if array.dtype.kind not in "fiu" or array.dtype.itemsize not in (4, 8):
        return array
    array = array.astype(array.dtype.newbyteorder("="))
    frame = pandas.DataFrame(array, columns=[f"f{j}" for j in range(array.shape[1])])
    if form == "spframe" and array.dtype == np.float64:
        return frame.astype(pandas.SparseDtype(float, 0.0))
    return frame


def _sparse(
    rng: np.random.Generator, values: Any, form: str, damage: int | None
) -> Any:
    if values.ndim != 2:
        return values
    values = np.where(rng.random(values.shape) < 0.5, values, 0.0)
    if values.size == 0 and form in ("bsr", "dia"):
        form = "csr"
    matrix = getattr(sp, f"{form}_{choose(rng, ('matrix', 'array'))}")(values)
    if damage is not None:
        _damage(np.random.default_rng(damage), matrix)
    return matrix


def _damage(rng: np.random.Generator, matrix: Any) -> None:
    """Write a wrong number to one of the arrays of a sparse matrix."""
    parts = [
        part
        for name in ("indices", "indptr", "row", "col", "offsets", "data", "coords")
        for part in _arrays_in(getattr(matrix, name, None))
        if part.size > 0 and part.flags.writeable
    ]
    if not parts:
        return
    part = choose(rng, parts)
    place = rng.integers(part.size)
    if part.dtype == object:  # lists of a LIL matrix
        if part.reshape(-1)[place]:
            part.reshape(-1)[place][-1] = int(choose(rng, (-1, 99, 2**31 - 1, 2**40)))
        return
    bad = (
        (-1, 0, 1, 99, 2**31 - 1, -(2**31))
        if part.dtype.kind == "i"
        else (np.nan, np.inf)
    )
    part.reshape(-1)[place] = choose(rng, bad)


def _arrays_in(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [part for part in value if isinstance(part, np.ndarray)]
    return [value] if isinstance(value, np.ndarray) else []
