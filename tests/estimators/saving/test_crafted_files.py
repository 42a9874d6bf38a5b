"""Files with correct checksums whose content no model can have."""

import re
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from estimators.saving.crafting import (
    Parts,
    array_in,
    npy,
    put_together,
    taken_apart,
)
from learners import KINDS
from rpnb import PooledClassifier, RPNBClassifier, baselines
from rpnb.core.pooled.model import MEMBERS
from rpnb.estimators.saving.estimator import _saved_without_arrays
from rpnb.estimators.saving.files import ModelFileError
from rpnb.estimators.saving.pooled_schema import MEMBER_SCHEMAS
from rpnb.estimators.saving.schema import MOST_FEATURES, check_tree

rng = np.random.default_rng(3)
X = rng.normal(size=(400, 3))
y = np.array(["a", "b", "c"])[(X[:, 0] * X[:, 1] > 0) + 1 * (X[:, 2] > 1)]
NAMES = (*KINDS, "FrozenRPNB", "late")
TREES: dict[str, Any] = {"n_estimators": 2, "grace_period": 20.0, "tie_threshold": 0.5}


@cache
def fitted(name: str) -> Any:
    if name == "FrozenRPNB":
        return fitted("RPNB").compile()
    if name == "RPNB":
        return RPNBClassifier(3, random_state=0).fit(X, y)
    if name in ("Pooled", "late"):
        model = PooledClassifier(n_projections=16, window=64, random_state=0)
        model.set_params(delay=9 if name == "late" else 0)
        return model.set_params(shuffle=False).fit(X[:300], y[:300])
    parameters = TREES | {"random_state": 0} if name.startswith("OnlineB") else {}
    if name == "OnlineBayes":
        parameters = {}
    model = baselines.make(name, **parameters)
    two = name in ("SOP", "IELLIP", "NAROW", "NHERD")
    try:
        return model.fit(X, y)
    except ValueError:
        assert two or not getattr(model._learner(), "has_multiclass", True)
        return model.fit(X, y == "b")


@cache
def whole(name: str, folder: Path) -> bytes:
    path = folder / f"{name}.rpnb"
    fitted(name).save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("crafted")


def load(name: str, parts: Parts, folder: Path) -> Any:
    kind = type(fitted(name))
    path = folder / "crafted.rpnb"
    path.write_bytes(put_together(parts))
    return kind.load(path)


def refused(name: str, parts: Parts, folder: Path, message: str = "damaged") -> None:
    start = time.process_time()
    with pytest.raises(ModelFileError, match=message):
        load(name, parts, folder)
    assert time.process_time() - start < 5.0


def arrays_of(parts: Parts) -> list[str]:
    """Return all arrays; with late labels, a part of those that the pool alone lacks.

    They are held to the schemas of the pool's own arrays, all of which are tried.
    """
    names = [name.removesuffix(".npy") for name in parts if name.endswith(".npy")]
    late = [name for name in names if name.startswith("late.")]
    return late[::5] or names


# Every array of every estimator


@pytest.mark.parametrize("name", NAMES)
def test_an_array_of_another_type_or_shape_is_refused(name: str, folder: Path) -> None:
    parts = taken_apart(whole(name, folder))
    for turn, array in enumerate(arrays_of(parts)):
        held = array_in(parts, array)
        others: list[NDArray[Any]] = [
            np.zeros(held.shape, np.int8),
            held[..., None],
            np.concatenate([held, held]),
        ]
        if name in ("Pooled", "late"):  # so many arrays that one damage each will do
            others = [others[turn % 3]]
        for other in others:
            if other.dtype == held.dtype and other.shape == held.shape:
                continue  # twice nothing
            refused(name, parts | {f"{array}.npy": npy(other)}, folder)


def wrong_values(held: NDArray[Any]) -> Iterator[Any]:
    if held.dtype.kind == "i":
        info = np.iinfo(held.dtype)
        yield from (info.min, info.max)
    elif held.dtype.kind == "f":
        yield np.nan


@pytest.mark.parametrize("name", NAMES)
def test_numbers_out_of_range_are_refused(name: str, folder: Path) -> None:
    """An index that points nowhere, a counter about to overflow, not a number."""
    parts = taken_apart(whole(name, folder))
    for turn, array in enumerate(arrays_of(parts)):
        held = array_in(parts, array)
        missing = (
            "scale.rows",
            "window_forest.window",
            "boosted_trees.raw",
            "late.pending.rows",
        )
        if array.removeprefix("late.") in missing or array in missing or held.size == 0:
            continue  # missing values are kept as they are
        wrongs = [*wrong_values(held)]
        if name in ("Pooled", "late") and wrongs:
            wrongs = [wrongs[turn % len(wrongs)]]
        for wrong in wrongs:
            damaged = held.copy()
            damaged.reshape(-1)[-1] = wrong
            message = (
                rf"array '{re.escape(array)}' holds .*{damaged.ndim * '.*'}must be"
            )
            refused(name, parts | {f"{array}.npy": npy(damaged)}, folder, message)


@pytest.mark.parametrize("name", NAMES)
def test_booleans_are_zero_or_one(name: str, folder: Path) -> None:
    parts = taken_apart(whole(name, folder))
    for array in arrays_of(parts):
        held = array_in(parts, array)
        if held.dtype == np.bool_:
            content = bytearray(parts[f"{array}.npy"])
            content[-1] = 7
            changed = parts | {f"{array}.npy": bytes(content)}
            refused(name, changed, folder, f"'{re.escape(array)}' holds 7 at")


@pytest.mark.parametrize("name", NAMES)
def test_arrays_that_are_missing_or_too_many_are_refused(
    name: str, folder: Path
) -> None:
    parts = taken_apart(whole(name, folder))
    for array in arrays_of(parts):
        less = {key: part for key, part in parts.items() if key != f"{array}.npy"}
        refused(name, less, folder, f"has no array '{re.escape(array)}'")
    more = {"another.npy": npy(np.ones(3)), **parts}
    refused(name, more, folder, "has an array 'another', which no such model has")
    for entry in ("notes.txt", "../x.npy", "a.json"):
        refused(name, {entry: b"", **parts}, folder, "an entry .* which no model has")


def test_every_member_of_the_pool_has_a_schema() -> None:
    """Another member takes an entry in rpnb.estimators.saving.pooled_schema."""
    assert list(MEMBER_SCHEMAS) == list(MEMBERS)
    state = fitted("Pooled")._state
    for name, record in zip(state.names, state.states, strict=True):
        assert MEMBER_SCHEMAS[name].record is type(record)


# Trees


def with_changed(
    parts: Parts, array: str, change: Callable[[NDArray[Any]], None]
) -> Parts:
    held = array_in(parts, array)
    change(held)
    return parts | {f"{array}.npy": npy(held)}


def put(place: Any, value: Any) -> Callable[[NDArray[Any]], None]:
    def change(array: NDArray[Any]) -> None:
        array[place] = value

    return change


@pytest.mark.parametrize("name", ["OnlineBagging", "OnlineBoosting"])
def test_nodes_that_are_no_tree_are_refused(name: str, folder: Path) -> None:
    parts = taken_apart(whole(name, folder))
    splits, left = array_in(parts, "splits"), array_in(parts, "Nodes.left")
    assert splits[0] >= 3, "the tree must have grown for this"
    C = left.shape[0] // 2
    cases = {
        "a cycle of one": ("Nodes.left", put(0, 0)),
        "a cycle": ("Nodes.left", put(splits[0] - 1, 1)),
        "two parents": ("Nodes.right", put(0, left[0])),
        "one split less": ("splits", put(0, splits[0] - 1)),
    }
    for array, change in cases.values():
        refused(
            name, with_changed(parts, array, change), folder, "tree 0 is not a tree"
        )
    assert splits[1] >= 1
    second = with_changed(parts, "Nodes.left", put(C, 0))
    refused(
        name, second, folder, "tree 1 is not a tree: a node is not after its parent"
    )
    for array, value, message in (
        ("Nodes.attribute", 3, "must be at most 2"),
        ("Nodes.left", C, "must be at most"),
        ("Nodes.right", -C - 1, "must be at least"),
        ("Counts.slots", 4, "must be at most 3"),
        ("splits", C, "must be at most"),
    ):
        changed = with_changed(parts, array, put(0, value))
        refused(
            name, changed, folder, f"'{array}' holds {value} at .0., which {message}"
        )


def test_trees_of_any_size_are_taken() -> None:
    def tree(*children: tuple[int, int]) -> None:
        left, right = np.array(children, np.int64).reshape(-1, 2).T
        check_tree("it", left, right, len(children) + 1)

    tree()
    tree((-1, -2))
    tree((-1, 1), (-2, -3))
    tree((1, 2), (-1, -2), (-4, -3))
    with pytest.raises(ModelFileError, match="is the child of one node"):
        tree((-1, -1))
    with pytest.raises(ModelFileError, match="not after its parent"):
        tree((0, -1))


def test_a_window_forest_that_contradicts_itself_is_refused(folder: Path) -> None:
    parts = taken_apart(whole("Pooled", folder))
    names = fitted("Pooled")._state.names
    state = fitted("Pooled")._state.states[names.index("window_forest")]
    tree = int(state.place[0])
    assert state.n_nodes[tree] >= 5
    clock = "window_forest.clock"
    cases: dict[str, tuple[str, Any, Any, str]] = {
        "a cycle": ("child", (tree, 0), 0, "tree 0 is not a tree: a node is not after"),
        "a leaf too few": ("n_leaves", tree, state.n_leaves[tree] - 1, "is not a tree"),
        "a node too many": ("n_nodes", tree, state.n_nodes[tree] + 2, "is not a tree"),
        "a place twice": ("place", 0, state.place[1], "'window_forest.place' contra"),
        "rows to come": ("recent", (tree, 0, 0), 10**6, "'window_forest.recent'"),
        "a row without class": ("window_class", 0, -1, clock),
        "no rows learned": ("clock", 0, -1, clock),
        "a tree from long ago": ("clock", 3, 0, clock),
        "another seed": ("seed", 0, 1, "'seed' contradicts"),
    }
    for field, place, value, message in cases.values():
        array = f"window_forest.{field}"
        changed = with_changed(parts, array, put(place, value))
        refused("Pooled", changed, folder, message)


def test_counters_of_members_agree(folder: Path) -> None:
    parts = taken_apart(whole("Pooled", folder))
    for array, value in (
        ("shared_covariance.pending", 256),
        ("shared_covariance.dimension", 5),
        ("fading_covariance.next", 0),
        ("fading_covariance.columns", 0),
        ("transitions.last", 3),
    ):
        part, _, field = array.partition(".")
        changed = with_changed(parts, array, put(Ellipsis, value))
        refused("Pooled", changed, folder, rf"{part}\.{field}")


def test_rows_collected_fit_into_their_space(folder: Path) -> None:
    model = PooledClassifier(members=["shared_covariance"], n_projections=16)
    model.set_params(shuffle=False).fit(X[:340], y[:340])  # 84 rows since row 256
    model.save(folder / "collected.rpnb")
    same = PooledClassifier.load(folder / "collected.rpnb")
    for learner in (model, same):
        learner.partial_fit(X, y)
    assert (same.predict_proba(X) == model.predict_proba(X)).all()
    # There is space for 256.
    parts = taken_apart(whole("Pooled", folder))
    array = "shared_covariance.pending"
    full = load("Pooled", with_changed(parts, array, put(Ellipsis, 255)), folder)
    full.partial_fit(X, y)
    changed = with_changed(parts, array, put(Ellipsis, 256))
    refused("Pooled", changed, folder, r"shared_covariance\.pending")


def test_variances_are_not_negative(folder: Path) -> None:
    for name, array in (
        ("RPNB", "scatter"),
        ("RPNB", "weight"),
        ("GaussianNB", "scatter"),
        ("OnlineBayes", "weight"),
        ("Pooled", "scale.deviation"),
    ):
        parts = taken_apart(whole(name, folder))
        changed = with_changed(parts, array, put(Ellipsis, -1.0))
        refused(name, changed, folder, f"'{array}' holds -1.0 at .*, which must be at")
    parts = taken_apart(whole("OnlineBayes", folder))
    changed = with_changed(parts, "root", put((0, 1, 1), -1.0))
    refused("OnlineBayes", changed, folder, "negative diagonal")


# Nothing is allocated because a file claims it


@pytest.mark.parametrize("name", NAMES)
def test_sizes_that_a_file_only_claims_are_refused(name: str, folder: Path) -> None:
    parts = taken_apart(whole(name, folder))
    metadata = parts["metadata.json"]
    for key in ("n_estimators", "n_components", "n_projections"):
        for value in (2**31 - 1, 2**31, 10**400):
            if key in metadata["parameters"]:
                larger = metadata["parameters"] | {key: value}
                changed = {"metadata.json": metadata | {"parameters": larger}}
                refused(name, parts | changed, folder)
    claims = 0, -1, 1.0, True, None, "3", MOST_FEATURES + 1, 2**31, 2**63, 10**400
    for claim in claims:
        changed = {"metadata.json": metadata | {"n_features_in": claim}}
        refused(name, parts | changed, folder, "n_features_in must be")
    most = metadata | {"n_features_in": MOST_FEATURES}
    assert _saved_without_arrays(most).n_features == MOST_FEATURES


def test_the_header_of_an_array_is_not_believed(folder: Path) -> None:
    parts = taken_apart(whole("RPNB", folder))
    held = parts["weight.npy"]
    for shape in ("(3000000000,)", "(2,)", "(-3,)", "(3, 3, 3)", "('a',)", "3"):
        header = held[10:128].replace(b"(3,)", shape.encode())[:118]
        changed = held[:10] + header.ljust(117)[:117] + b"\n" + held[128:]
        refused("RPNB", parts | {"weight.npy": changed}, folder, r"weight\.npy")
    for content in (b"", b"\x93NUMPY", held[:-1], held + b"\0"):
        refused("RPNB", parts | {"weight.npy": content}, folder)


def test_labels_that_claim_to_be_long_are_refused(folder: Path) -> None:
    parts = taken_apart(whole("PA", folder))
    for dtype, labels in (
        ("<U999999999", ["a", "b", "c"]),
        ("<U0", ["a", "b", "c"]),
        ("<f8", [0.0, 1.0, float(10**300) * 10**10]),
        ("<i8", [0, 1, 2**63]),
        ("<i8", [0, 1, 1]),
        ("<i8", [2, 1, 0]),
        ("<i8", [False, True, 2]),
        ("<U1", ["a", "b", 3]),
        ("|O", ["a", "b", None]),
        ("|V8", ["a", "b", "c"]),
        ("<U1", {"a": 1, "b": 2, "c": 3}),
        ("<U1", []),
    ):
        changed = {"classes": labels, "classes_dtype": dtype}
        metadata = parts["metadata.json"] | changed
        refused("PA", parts | {"metadata.json": metadata}, folder)


# Metadata


@pytest.mark.parametrize("name", NAMES)
def test_invalid_metadata_are_refused(name: str, folder: Path) -> None:
    parts = taken_apart(whole(name, folder))
    metadata = parts["metadata.json"]
    state: dict[str, Any] = metadata["state"]
    invalid: list[dict[str, Any]] = [
        {"comment": "hello"},
        {"rpnb_version": 3},
        {"parameters": []},
        {"parameters": metadata["parameters"] | {"n_jobs": 10**6}},
        {"parameters": metadata["parameters"] | {"depth": 3}},
        {"state": []},
        {"state": state | {"more": 1}},
        {"feature_names_in": ["a", "b"]},
        {"feature_names_in": ["a", "b", 3]},
        {"feature_names_in": "abc"},
        *({"state": state | {key: None}} for key in state),
        *({"state": state | {key: -1}} for key in state),
        *(
            {"state": state | {key: float("1e308")}}
            for key in state
            if key != "temperature"
        ),
        *({"state": {k: v for k, v in state.items() if k != key}} for key in state),
        *(
            {"parameters": metadata["parameters"] | {key: [[]]}}
            for key in metadata["parameters"]
        ),
    ]
    for change in invalid:
        refused(name, parts | {"metadata.json": metadata | change}, folder)


def test_invalid_json_is_refused(folder: Path) -> None:
    parts = taken_apart(whole("PA", folder))
    text = b'{"format": "rpnb-model", "format_version": 1, "x": %b}'
    for value in (b"NaN", b"Infinity", b"[" * 100_000, b"1" * 5000, b"\xff", b""):
        refused("PA", parts | {"metadata.json": text % value}, folder)
