"""Columns in model files: the kinds of columns, and known categories.

The file of a model whose columns are all numbers has none of these entries.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpnb.core.columns.categories import (
    GROUPS,
    LOOKS,
    MOST_CATEGORIES,
    MOST_INDICATORS,
    ORDERED,
    SHARED_PLACES,
    Categories,
    KeptRows,
    Layout,
)
from rpnb.estimators.checks.columns import Columns
from rpnb.estimators.saving.estimator import SavedEstimator
from rpnb.estimators.saving.files import ModelFileError
from rpnb.estimators.saving.schema import (
    ArraySchema,
    StateSchema,
    check_arrays,
    counts,
    indices,
    reals,
)
from rpnb.estimators.stream.frame_encoder import FrameEncoder

#: Entry of the kinds of columns in a model file, and the prefix of their arrays.
ENTRY: Final = "columns"
_PREFIX: Final = f"{ENTRY}."
_KEYS: Final = {"kinds", "layout", "frequencies", "final"}


class SavedColumns(NamedTuple):
    """The part of a model file about columns that is JSON."""

    columns: Columns
    layout: Layout | None
    """None without categories"""
    final: bool
    """whether the layout is final"""

    @property
    def width(self) -> int:
        """Number of features of the learner."""
        if self.layout is None:
            return self.columns.width
        return self.categories(0).width

    def categories(self, M: int) -> Categories:
        """Return empty categories with this layout."""
        columns = self.columns
        found = Categories(
            *(columns.categories, columns.width, M, self.layout),
            orders=columns.orders_of_categories,
        )
        if self.final:
            found.kept = None
        return found


def with_columns(saved: SavedEstimator, frame: FrameEncoder | None) -> SavedEstimator:
    """Return the content of a model file with these columns added."""
    if frame is None:
        return saved
    columns, categories = frame.columns, frame.categories
    entry: dict[str, Any] = {"kinds": list(columns.kinds)}
    if columns.orders:
        entry["orders"] = [list(order) for order in columns.orders]
    arrays: dict[str, NDArray[Any]] = {}
    if categories is not None:
        entry |= {
            "layout": list(categories.layout.columns),
            "frequencies": categories.layout.frequencies,
            "final": categories.kept is None,
        }
        arrays = {_PREFIX + name: a for name, a in _to_arrays(categories).items()}
    return saved._replace(
        state={**saved.state, ENTRY: entry}, arrays={**saved.arrays, **arrays}
    )


def _to_arrays(categories: Categories) -> dict[str, NDArray[Any]]:
    places = [(j, number) for j, own in enumerate(categories.counts) for number in own]
    rows = [own[number] for own in categories.counts for number in own]
    arrays: dict[str, NDArray[Any]] = {
        "known": np.array([len(own) for own in categories.known], np.int64),
        "keys": np.array([key for own in categories.known for key in own], np.int64),
        "places": np.array(places, np.int64).reshape(-1, 2),
        "counts": np.array(rows, np.int64).reshape(-1, GROUPS),
        "totals": np.array(categories.totals, np.int64),
        "ranks": categories.ranks,
        "seen": np.array([categories.seen]),
    }
    if categories.kept is not None:
        arrays |= {
            "rows": categories.kept.X,
            "labels": categories.kept.y,
            "weight": categories.kept.weight,
        }
    return arrays


def saved_columns(saved: SavedEstimator) -> SavedColumns | None:
    """Return a file's entries about columns, None if all columns are numbers."""
    entry = saved.state.get(ENTRY)
    if entry is None:
        return None
    kinds = entry["kinds"]
    if type(kinds) is not list or len(kinds) != saved.n_features:
        raise ValueError(f"its columns must have {saved.n_features} kinds")
    columns = Columns(tuple(kinds), _saved_orders(entry))
    if not columns.categories:
        if entry.keys() != {"kinds"}:
            raise ValueError("its columns have a layout, but no categories")
        return SavedColumns(columns, None, final=True)
    if entry.keys() - {"orders"} != _KEYS:
        raise ValueError(f"its columns must have {sorted(_KEYS)}")
    layout, B, final = entry["layout"], entry["frequencies"], entry["final"]
    if (
        type(layout) is not list
        or len(layout) != len(columns.categories)
        or not all(type(k) is int and ORDERED <= k <= MOST_INDICATORS for k in layout)
        or [k == ORDERED for k in layout]
        != [len(order) > 0 for order in columns.orders_of_categories]
        or type(B) is not int
        or not 1 <= B < GROUPS
        or type(final) is not bool
    ):
        raise ValueError("its categories have an invalid layout")
    return SavedColumns(columns, Layout(tuple(layout), B), final)


def _saved_orders(entry: dict[str, Any]) -> tuple[tuple[float, ...], ...]:
    """Return the orders of categories in a file; () if it has none."""
    orders = entry.get("orders", [])
    if type(orders) is not list or not all(
        type(order) is list and all(type(each) is float for each in order)
        for order in orders
    ):
        raise ValueError("the orders of its categories must be lists of numbers")
    return tuple(tuple(order) for order in orders)


def array_names(found: SavedColumns) -> set[str]:
    """Return the arrays that a file must have beside those of the learner."""
    if found.layout is None:
        return set()
    return {_PREFIX + name for name in _to_arrays(found.categories(0))}


def without_columns(saved: SavedEstimator) -> SavedEstimator:
    """Return the content of a model file without its columns."""
    return saved._replace(
        state={name: value for name, value in saved.state.items() if name != ENTRY},
        arrays={
            name: array
            for name, array in saved.arrays.items()
            if not name.startswith(_PREFIX)
        },
    )


def check_categories(saved: SavedEstimator, found: SavedColumns) -> Categories | None:
    """Check and return the categories of a file."""
    if found.layout is None:
        return None
    M = saved.classes.shape[0]
    categories = found.categories(M)
    k = len(categories.places)
    own = {n: a for n, a in saved.arrays.items() if n.startswith(_PREFIX)}
    shapes = {name.removeprefix(_PREFIX): array.shape for name, array in own.items()}
    known, counted = _first(shapes, "keys"), _first(shapes, "places")
    rules = {
        "known": indices(k, below=MOST_CATEGORIES + 1),
        "keys": ArraySchema(np.int64, (known,)),
        "places": ArraySchema(np.int64, (counted, 2), 0),
        "counts": counts(counted, GROUPS),
        "totals": counts(GROUPS),
        "ranks": indices(M, below=M, low=-1),
        "seen": counts(1),
    }
    if not found.final:
        kept = _first(shapes, "rows")
        rules |= {
            "rows": reals(kept, categories.P, nan=True),
            "labels": indices(kept, below=M),
            "weight": reals(kept, low=0.0),
        }
    schema = StateSchema({_PREFIX + name: rule for name, rule in rules.items()})
    arrays = {
        name.removeprefix(_PREFIX): array
        for name, array in check_arrays(own, schema).items()
    }
    _fill(categories, arrays)
    return categories


def _first(shapes: dict[str, tuple[int, ...]], name: str) -> int:
    shape = shapes.get(name, ())
    return shape[0] if shape else 0


def _fill(categories: Categories, arrays: dict[str, NDArray[Any]]) -> None:
    """Fill in the arrays of a file, which must be consistent."""
    sizes = arrays["known"].tolist()
    _require(sum(sizes) == arrays["keys"].shape[0], "known")
    keys = arrays["keys"].tolist()
    for j, size in enumerate(sizes):
        some, keys = keys[:size], keys[size:]
        categories.known[j] = {key: number for number, key in enumerate(some)}
        _require(len(categories.known[j]) == size, "keys")
        _require(categories.layout.columns[j] <= size, "layout")
    for (j, number), rows in zip(
        arrays["places"].tolist(), arrays["counts"].tolist(), strict=True
    ):
        _require(j < len(sizes) and number < MOST_CATEGORIES + SHARED_PLACES, "places")
        categories.counts[j][number] = rows
    _require(sum(map(len, categories.counts)) == arrays["places"].shape[0], "places")
    categories.totals = arrays["totals"].tolist()
    categories.seen = int(arrays["seen"][0])
    ranks = arrays["ranks"]
    seen = np.sort(ranks[ranks >= 0])
    _require(bool((seen == np.arange(seen.shape[0])).all()), "ranks")
    categories.ranks = ranks.copy()
    if categories.kept is None:
        _require(categories.seen >= LOOKS[-1], "seen")
        return
    kept = KeptRows(arrays["rows"], arrays["labels"], arrays["weight"])
    _require(kept.y.shape[0] == categories.seen < LOOKS[-1], "seen")
    _require(bool((kept.weight > 0.0).all()), "weight")
    categories.kept = kept


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ModelFileError(
            f"the model file is damaged: '{_PREFIX}{what}' contradicts the rest of the "
            "state"
        )
