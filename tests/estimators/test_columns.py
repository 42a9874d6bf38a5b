"""Tables with categories, text and dates: learned directly, in any calls, saved."""

import copy
import json
import pickle
import warnings
from collections.abc import Callable
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from estimators.saving.crafting import array_in, npy, put_together, taken_apart
from rpnb import PooledClassifier, RPNBClassifier, load
from rpnb.baselines import PA
from rpnb.drift import DriftAware
from rpnb.estimators.checks.texts import TextColumnWarning
from rpnb.estimators.protocol import columns_of, saved_model
from rpnb.estimators.saving.files import ModelFileError
from rpnb.evaluate import prequential
from rpnb.preprocessing import RunningScaler, make_stream_pipeline

N = 600  # beyond the last look at the layout
rng = np.random.default_rng(0)
WORDS = np.array(["ship", "arrived", "late", "again", "today", "parcel", "lost"])
FRAME = pd.DataFrame(
    {
        "size": rng.normal(size=N),
        "colour": pd.Categorical(rng.choice(["red", "green", "blue", "grey"], N)),
        "shape": rng.choice(["round", "square", "flat"], N),
        "shop": rng.integers(0, 90, N).astype(str),
        "open": rng.random(N) < 0.5,
        "when": pd.Timestamp("2024-01-01")
        + pd.to_timedelta(rng.integers(0, 10**7, N), unit="s"),
        "note": [" ".join(rng.choice(WORDS, 6)) for _ in range(N)],
    }
)
ODD = FRAME["colour"].isin(["red", "blue"]) ^ (FRAME["shape"] == "flat")
Y = np.where(FRAME["shop"].str.endswith("7"), "third", np.where(ODD, "odd", "even"))
CUTS = ([0, 1, 2, 31, 32, 33, 129, 500, 512, 513, N], [*range(0, N, 64), N])


def pooled(**given: Any) -> PooledClassifier:
    return PooledClassifier(n_projections=16, window=64, random_state=0, **given)


@pytest.fixture(scope="module")
def fitted() -> PooledClassifier:
    model = pooled()
    model.predict_then_learn(FRAME, Y)
    return model


def bits(model: PooledClassifier) -> bytes:
    stream = BytesIO()
    from rpnb.estimators.saving.estimator import write_estimator

    write_estimator(stream, saved_model(model))
    return stream.getvalue()


# Learning


def test_a_table_of_all_kinds_is_learned_as_it_is() -> None:
    X, y = FRAME.drop(columns="note"), Y
    predicted = pooled().predict_then_learn(X, y)
    assert np.mean(predicted[-200:] != y[-200:]) < 0.15
    codes = X.assign(
        colour=X["colour"].cat.codes,
        shape=pd.factorize(X["shape"])[0],
        shop=pd.factorize(X["shop"])[0],
        when=X["when"].astype("int64") / 1e9,
    )
    by_code = pooled().predict_then_learn(codes, y)
    assert np.mean(predicted != y) < np.mean(by_code != y)


def test_words_of_a_text_are_learned() -> None:
    X = FRAME[["note"]]
    y = X["note"].str.contains("lost")
    predicted = pooled().predict_then_learn(X, y)
    assert np.mean(predicted[-200:] != y[-200:]) < 0.2
    assert min(np.mean(y), 1 - np.mean(y)) > 0.3  # guessing is no way


def kinds_of(column: list[Any]) -> Any:
    model = pooled().fit(pd.DataFrame({"c": column, "x": range(len(column))}), Y4)
    columns = columns_of(model)
    return None if columns is None else columns.kinds[0]


LONG = "this is a long text"
Y4 = [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (["ok", LONG, LONG, LONG], "text"),
        ([None, "ok", LONG, LONG], "text"),
        ([LONG, "ok", "ok", LONG], "category"),
        ([LONG, "ok", "no", "ok"], "category"),
    ],
)
def test_most_values_decide_what_is_text(column: list[Any], kind: str) -> None:
    assert kinds_of(column) == kind


LOOKS: dict[str, tuple[list[str], str]] = {
    "unit": ([f"{i / 7:.1f} kg" for i in range(99)], r"str\.removesuffix\(' kg'\)"),
    "comma": ([f"{i},5" for i in range(99)], r"str\.replace\(',', '\.'\)"),
    "missing": (
        [f"-{i}.5" if i % 9 else "-" for i in range(99)],
        r"use pandas\.to_numeric\(X\['c'\], errors='coerce'\)",
    ),
    "none": ([str(i) if i % 3 else "none" for i in range(99)], "numbers, such as '1'"),
    "dates": (
        [f"2024-01-{1 + i % 28:02d}" for i in range(99)],
        r"use pandas\.to_datetime\(X\['c'\]\)",
    ),
    "times": ([f"2024-01-31T{i % 24:02d}:00:00Z" for i in range(99)], "dates, such as"),
}


@pytest.mark.parametrize("name", LOOKS)
@pytest.mark.parametrize("way", ["fit", "partial_fit", "predict_then_learn"])
def test_text_that_looks_like_numbers_or_dates_is_pointed_out_once(
    name: str, way: str
) -> None:
    texts, message = LOOKS[name]
    X, y = pd.DataFrame({"c": texts}), [0, 1, 2] * 33
    model, said = pooled(), f"column 'c' is learned as text or .*{message}"
    with pytest.warns(TextColumnWarning, match=said) as found:
        getattr(model, way)(X, y)
    assert len(found) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X, y)
        pooled(categorical_features=["c"]).fit(X, y)
        short = pooled().fit(X.head(1), y[:1])
    assert short.predict(X).shape == (99,)


@pytest.mark.parametrize(
    "texts",
    [
        [f"0{i}" for i in range(1000, 1099)],
        [f"{i}{'abcde'[i % 5]}" for i in range(99)],
        [f"shop {i}" for i in range(99)],
        [str(i % 9) for i in range(99)],
        [str(i) for i in range(99)],
        [f"{i % 3}-door" for i in range(99)],
    ],
)
def test_categories_with_digits_are_left_alone(texts: list[str]) -> None:
    pooled().fit(pd.DataFrame({"c": texts}), [0, 1, 2] * 33)


def test_times_of_the_day_are_learned() -> None:
    X = FRAME[["when"]]
    hour = X["when"].dt.hour
    y = (hour >= 22) | (hour < 8)  # around midnight
    predicted = pooled().predict_then_learn(X, y)
    assert np.mean(predicted[-200:] != y[-200:]) < 0.1


# Categories in an order

GRADES = ["poor", "fair", "good", "fine"]
GRADED = FRAME[["size", "shape"]].assign(
    grade=pd.Categorical(rng.choice(GRADES, N), GRADES, ordered=True)
)
HIGH = (GRADED["grade"].cat.codes + GRADED["size"] > 1.5).to_numpy()
RANKED = GRADED.assign(grade=GRADED["grade"].cat.codes)


@pytest.mark.parametrize("cuts", CUTS)
def test_an_ordered_category_is_its_place_in_the_order(cuts: list[int]) -> None:
    model = pooled()
    expected = pooled().predict_then_learn(RANKED, HIGH)
    found = [
        model.predict_then_learn(GRADED.iloc[begin:end], HIGH[begin:end])
        for begin, end in pairwise(cuts)
    ]
    if found[0].shape[0] > 1:
        assert_array_equal(np.concatenate(found), expected)
    else:  # the first row, before which there was no class, has no prediction
        assert_array_equal(np.concatenate(found)[1:], expected[1:])


def test_the_order_is_that_of_the_first_rows_and_saved(tmp_path: Path) -> None:
    model = pooled().fit(GRADED, HIGH)
    model.save(tmp_path / "m.rpnb")
    again = load(tmp_path / "m.rpnb")
    assert bits(again) == bits(model)
    P = model.predict_proba(GRADED)
    listed_otherwise = GRADED.assign(
        grade=pd.Categorical(GRADED["grade"].astype(str), GRADES[::-1], ordered=True)
    )
    for other in listed_otherwise, GRADED.assign(grade=GRADED["grade"].astype(str)):
        assert_array_equal(again.predict_proba(other), P)
    expected = pooled().fit(RANKED, HIGH).predict_proba(RANKED.assign(grade=1.5))
    for unknown in "awful", None:
        rows = GRADED.assign(grade=unknown)
        assert_array_equal(again.predict_proba(rows), expected)


def test_arrow_has_ordered_categories_too() -> None:
    table = pa.Table.from_pandas(GRADED)
    assert table.schema.field("grade").type.ordered
    P = pooled().fit(GRADED, HIGH).predict_proba(GRADED)
    assert_array_equal(pooled().fit(table, HIGH).predict_proba(table), P)


def test_a_column_that_is_named_has_no_order() -> None:
    plain = GRADED.assign(grade=GRADED["grade"].astype(str))
    named = pooled(categorical_features=["grade", "shape"])
    assert_array_equal(
        named.predict_then_learn(GRADED, HIGH),
        pooled().predict_then_learn(plain, HIGH),
    )


ORDER = [7.0, 8.0, 9.0]


@pytest.mark.parametrize(
    "orders",
    [
        "none",
        [[], [], 1],
        [[], []],
        [[], [], []],
        [ORDER, [], ORDER],
        [[], ORDER, ORDER],
        [[], [], [7.0, 7.0, 8.0]],
        [[], [], [7, 8, 9]],
        [[], [], ["7", "8"]],
        [[], [], [float(i) for i in range(5000)]],
    ],
)
def test_a_file_with_another_order_is_refused(orders: Any, tmp_path: Path) -> None:
    model = pooled().fit(GRADED, HIGH)
    parts = taken_apart(bits(model))
    columns = parts["metadata.json"]["state"]["columns"]
    assert [len(order) for order in columns["orders"]] == [0, 0, 4]
    columns["orders"] = orders
    (tmp_path / "m.rpnb").write_bytes(put_together(parts))
    with pytest.raises(ModelFileError):
        load(tmp_path / "m.rpnb")


# Any cut


@pytest.mark.parametrize("cuts", CUTS)
def test_any_cut_into_calls_gives_equal_bits(
    cuts: list[int], fitted: PooledClassifier
) -> None:
    whole = pooled()
    expected, _P = whole.predict_then_learn(FRAME, Y, return_proba=True)
    assert bits(whole) == bits(fitted)
    parts = pooled()
    for begin, end in pairwise(cuts):
        some = FRAME.iloc[begin:end]
        if begin > 0:
            # Row by row: each prediction is made before learning.
            assert parts.predict_next(some)[0] == expected[begin]
        found = parts.predict_then_learn(some, Y[begin:end])
        assert_array_equal(found, expected[begin:end])
    assert bits(parts) == bits(whole)


def test_probabilities_change_no_label_and_prequential_sees_the_same() -> None:
    plain, scored = pooled(), pooled()
    labels = plain.predict_then_learn(FRAME, Y)
    again, P = scored.predict_then_learn(FRAME, Y, return_proba=True)
    assert_array_equal(labels, again)
    assert P.shape == (N, 3)
    assert bits(plain) == bits(scored)
    result = prequential({"pool": pooled()}, FRAME, Y, every=50)
    assert bits(result.models["pool"]) == bits(plain)


def test_errors_of_the_pool_are_those_of_the_predictions_given() -> None:
    model = pooled()
    labels = model.predict_then_learn(FRAME, Y, classes=np.unique(Y))
    assert model.member_errors_["pool"] == pytest.approx(np.mean(labels != Y))
    assert model.n_samples_seen_ == N


@pytest.mark.parametrize(
    "make", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"]
)
def test_frames_of_other_libraries_are_the_same(
    make: Callable[[Any], Any], fitted: PooledClassifier
) -> None:
    assert_array_equal(fitted.predict_proba(make(FRAME)), fitted.predict_proba(FRAME))
    model = pooled()
    model.predict_then_learn(make(FRAME), Y)
    assert bits(model) == bits(fitted)


def test_columns_named_by_a_parameter_are_categories() -> None:
    X = np.stack([rng.normal(size=N), rng.integers(0, 5, N)], axis=1)
    y = np.isin(X[:, 1], [1, 4])
    frame = pd.DataFrame(X, columns=["a", "b"])
    labels = [
        pooled(categorical_features=given).predict_then_learn(data, y)
        for given, data in (
            ([1], X),
            ([False, True], X),
            (["b"], frame),
            ([1], frame),
            ([1], [[a, str(int(b))] for a, b in X.tolist()]),
        )
    ]
    for each in labels[1:]:
        assert_array_equal(each, labels[0])
    assert np.mean(labels[0][-300:] != y[-300:]) == 0.0


def test_numbers_are_learned_as_before() -> None:
    X = rng.normal(size=(300, 3))
    y = X[:, 0] > 0
    frame = pd.DataFrame(X, columns=list("abc"))
    expected = bits(pooled().partial_fit(X, y))
    for given in ({}, {"categorical_features": None, "text_features": None}):
        model = pooled(**given).partial_fit(X, y)
        assert model._frame is None
        assert given or bits(model) == expected
    assert_array_equal(
        pooled().partial_fit(frame, y).predict_proba(frame),
        pooled().partial_fit(X, y).predict_proba(X),
    )


def test_new_categories_come_at_any_time(fitted: PooledClassifier) -> None:
    model = copy.deepcopy(fitted)
    new = FRAME.iloc[:50].assign(colour="violet", shop="900", shape=None)
    before = bits(model)
    assert model.predict_proba(new).shape == (50, 3)
    assert bits(model) == before
    model.partial_fit(new, Y[:50])
    assert model.n_samples_seen_ == N + 50


def test_one_row_is_a_table_of_one() -> None:
    X = np.stack([rng.normal(size=N), rng.integers(0, 5, N)], axis=1)
    y = np.isin(X[:, 1], [1, 4])
    one, whole = pooled(categorical_features=[1]), pooled(categorical_features=[1])
    expected = whole.predict_then_learn(X, y)
    for i, (row, label) in enumerate(zip(X, y, strict=True)):
        if i > 0:
            assert one.predict_one(row) == expected[i]
        one.learn_one(row, label)
    assert bits(one) == bits(whole)


def test_late_labels_and_weights_are_learned_as_well() -> None:
    weight = rng.choice([0.0, 0.5, 2.0], N)
    weight[[0, 1, 31, 32, 512]] = 1.0  # parts of one row
    a = pooled(delay=30, class_weight="balanced")
    b = pooled(delay=30, class_weight="balanced")
    a.partial_fit(FRAME, Y, sample_weight=weight)
    for begin, end in pairwise(CUTS[0]):
        b.partial_fit(
            FRAME.iloc[begin:end], Y[begin:end], sample_weight=weight[begin:end]
        )
    assert bits(a) == bits(b)
    assert a.n_samples_seen_ == np.count_nonzero(weight)


def test_reasons_are_those_of_the_columns(fitted: PooledClassifier) -> None:
    found = fitted.explain(FRAME.iloc[:3], n_evaluations=256)
    assert found.values.shape == (3, 7)
    assert [*found.names] == [*FRAME]
    assert_allclose(found.values.sum(axis=1), found.score - found.base, atol=1e-9)
    assert fitted.feature_importance().shape == (7,)
    # What decides is the colour and the shape, and the shop of some.
    share = fitted.feature_importance(FRAME.iloc[-40:])
    assert share[1:4].sum() > 0.5
    # A column with the background's value adds nothing.
    row = FRAME.iloc[[5]]
    same = fitted.explain(row, background=row.assign(size=1.0), n_evaluations=8)
    assert np.count_nonzero(same.values) == 1


# Files


@pytest.mark.parametrize("n", [5, 100, N])
def test_saved_and_loaded_it_goes_on_as_before(n: int, tmp_path: Path) -> None:
    model = pooled()
    model.predict_then_learn(FRAME[:n], Y[:n])
    model.save(tmp_path / "m.rpnb")
    again = load(tmp_path / "m.rpnb")
    rest = FRAME.iloc[::-1]
    assert_array_equal(again.predict_proba(rest), model.predict_proba(rest))
    expected = model.predict_then_learn(rest, Y[::-1])
    assert_array_equal(again.predict_then_learn(rest, Y[::-1]), expected)
    assert bits(again) == bits(model)
    pickled = pickle.loads(pickle.dumps(model))  # noqa: S301 - its own
    assert bits(pickled) == bits(model)


def test_parameters_that_name_columns_are_saved(tmp_path: Path) -> None:
    given = {"categorical_features": ["shop"], "text_features": None}
    model = pooled(**given).fit(FRAME, Y)
    model.save(tmp_path / "m.rpnb")
    again = PooledClassifier.load(tmp_path / "m.rpnb")
    assert again.get_params() == model.get_params()
    assert clone(again).get_params() == model.get_params()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("kinds",), ["number"] * 7),
        (("kinds",), ["category"] * 7),
        (("kinds", 0), "picture"),
        (("kinds",), "category"),
        (("kinds",), ["text"] * 6),
        (("layout", 0), 10**9),
        (("layout", 0), -2),
        (("layout", 1), 500),
        (("layout",), [1]),
        (("frequencies",), 10**6),
        (("frequencies",), True),
        (("final",), False),
        (("more",), 1),
    ],
)
def test_a_file_with_other_columns_is_refused(
    path: tuple[Any, ...], value: Any, fitted: PooledClassifier, tmp_path: Path
) -> None:
    parts = taken_apart(bits(fitted))
    place = parts["metadata.json"]["state"]["columns"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    (tmp_path / "m.rpnb").write_bytes(put_together(parts))
    with pytest.raises(ModelFileError):
        load(tmp_path / "m.rpnb")


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("known", 0, 5000),
        ("known", 0, 1),
        ("keys", 1, None),
        ("places", (0, 0), 7),
        ("places", (0, 1), 10**6),
        ("counts", (0, 0), -1),
        ("totals", 0, -1),
        ("ranks", 0, 7),
        ("ranks", 0, 2),
        ("seen", 0, 12),
    ],
)
def test_a_file_with_other_categories_is_refused(
    name: str, place: Any, value: Any, fitted: PooledClassifier, tmp_path: Path
) -> None:
    parts = taken_apart(bits(fitted))
    array = array_in(parts, f"columns.{name}")
    if name == "ranks" and value == 2:
        array[:] = 2
    array[place] = array[0] if value is None else value
    parts[f"columns.{name}.npy"] = npy(array)
    (tmp_path / "m.rpnb").write_bytes(put_together(parts))
    with pytest.raises(ModelFileError):
        load(tmp_path / "m.rpnb")


def test_a_learner_of_numbers_has_no_file_with_categories(
    fitted: PooledClassifier, tmp_path: Path
) -> None:
    X = FRAME[["size", "open"]]
    RPNBClassifier(n_estimators=2, random_state=0).fit(X, Y).save(tmp_path / "m.rpnb")
    parts = taken_apart((tmp_path / "m.rpnb").read_bytes())
    entry = taken_apart(bits(fitted))["metadata.json"]["state"]["columns"]
    entry = json.loads(json.dumps(entry)) | {"kinds": ["number", "text"]}
    parts["metadata.json"]["state"]["columns"] = {"kinds": entry["kinds"]}
    (tmp_path / "m.rpnb").write_bytes(put_together(parts))
    with pytest.raises(ModelFileError):
        load(tmp_path / "m.rpnb")


# Refusals


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"size": "big"},
            "numbers in column 'size', as in the first rows, got 'big' in row 0",
        ),
        ({"when": 3.5}, "dates or times in column 'when', as in the first rows"),
        ({"shape": [[1]] * N}, r"categories in column 'shape'.*got \[1\] in row 0"),
        (
            {"size": pd.Timedelta("1h")},
            "numbers in column 'size', so convert durations",
        ),
        ({"size": [[1]] * N}, r"numbers in column 'size', text, categories or dates"),
        ({"size": np.inf}, "contains infinity"),
    ],
)
def test_what_a_column_cannot_hold_is_refused_and_changes_nothing(
    changed: dict[str, Any], message: str, fitted: PooledClassifier
) -> None:
    model, before = copy.deepcopy(fitted), bits(fitted)
    bad = FRAME.assign(**changed)
    for call in (model.predict, model.predict_proba, lambda X: model.partial_fit(X, Y)):
        with pytest.raises(ValueError, match=message):
            call(bad)
    assert bits(model) == before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"categorical_features": "colour"}, "must be 'from_dtype', None, or a list"),
        ({"categorical_features": ["color"]}, "names 'color', which is not a column"),
        ({"categorical_features": [7]}, "numbers from 0 to 6, got 7"),
        ({"categorical_features": [True]}, "a mask of 1 columns, but X has 7"),
        ({"categorical_features": None}, "column 'colour' holds categories"),
        ({"text_features": 3}, "must be 'auto', None, or a list"),
        (
            {"categorical_features": ["note"], "text_features": ["note"]},
            "column 'note' is in categorical_features and in text_features",
        ),
    ],
)
def test_columns_that_are_none_are_refused(given: dict[str, Any], message: str) -> None:
    model = pooled(**given)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(FRAME, Y)
    assert not model.__sklearn_is_fitted__()


def test_learners_of_numbers_name_the_column_and_the_learner_that_takes_it() -> None:
    with pytest.raises(ValueError, match=r"'colour'.*PooledClassifier learns them"):
        RPNBClassifier().fit(FRAME, Y)


@pytest.mark.parametrize("way", ["predict", "partial_fit"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.drop(columns="colour"), "now missing:\n- colour"),
        (lambda X: X.assign(more=1), "unseen at fit time:\n- more"),
        (lambda X: X[X.columns[::-1]], "must be in the same order"),
    ],
)
def test_other_columns_are_refused_by_name(
    change: Any, message: str, way: str, fitted: PooledClassifier
) -> None:
    before, rows = bits(fitted), change(FRAME)
    given = (rows,) if way == "predict" else (rows, Y)
    with pytest.raises(ValueError, match=message):
        getattr(fitted, way)(*given)
    assert bits(fitted) == before


def test_an_array_of_numbers_is_no_table_of_dates(fitted: PooledClassifier) -> None:
    with pytest.raises(ValueError, match="its column 5 held dates or times"):
        fitted.predict(np.zeros((2, 7)))


def test_wrappers_and_merging_refuse_categories(fitted: PooledClassifier) -> None:
    X, y = np.zeros((4, 2)), [0, 1, 0, 1]
    named = pooled(categorical_features=[0])
    for wrapped in (
        DriftAware(named),
        make_stream_pipeline(RunningScaler(), pooled()).set_params(learner=named),
        DriftAware(
            make_stream_pipeline(RunningScaler(), PA(), categorical_features=[0])
        ),
    ):
        with pytest.raises(ValueError, match="numbers only"):
            wrapped.partial_fit(X, y)
    with pytest.raises(ValueError, match="only models of numbers can be merged"):
        copy.deepcopy(fitted).merge(fitted)
