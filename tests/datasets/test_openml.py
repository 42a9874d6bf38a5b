"""Downloads from OpenML, by a stand-in: converted, compared, cached."""

import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.datasets._openml as sklearn_openml
from numpy.testing import assert_array_equal

from rpnb.core.kernels.arrays import FloatArray
from rpnb.datasets import DatasetUnavailableError, load
from rpnb.datasets.catalogue import Entry, OpenMLSource, describe
from rpnb.datasets.dataset import LabelArray, fingerprint
from rpnb.datasets.openml import fetch_rows

Server = Any  # the stand-in of conftest.py


def point_at(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send scikit-learn to another server than OpenML's."""
    addresses = [
        (name, value)
        for name, value in vars(sklearn_openml).items()
        if isinstance(value, str) and value.startswith("https://www.openml.org/")
    ]
    assert addresses
    for name, value in addresses:
        path = value.removeprefix("https://www.openml.org")
        monkeypatch.setattr(sklearn_openml, name, base + path)


@pytest.fixture
def server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, openml_stand_in: Server
) -> Server:
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "pandas", None)  # it must not be needed
    point_at(openml_stand_in.base, monkeypatch)
    return openml_stand_in


X = np.array([[1.0, 0.0], [2.0, 1.0], [4.0, 0.0], [2.5, 1.0]])
Y: LabelArray = np.array(["1", "2", "1", "1"])


def small(X: FloatArray = X, y: LabelArray = Y) -> Entry:
    labels, counts = np.unique(y, return_counts=True)
    return replace(
        describe("zoo"),
        n=X.shape[0],
        p=X.shape[1],
        class_counts=dict(zip(labels.tolist(), counts.tolist(), strict=True)),
        rows=fingerprint(X, y),
    )


ROWS = [
    ["cat", "1", "false", "mammal"],
    ["gull", "2", "true", "bird"],
    ["dog", "4", "false", "mammal"],
    ["bat", "2.5", "true", "mammal"],
]
COLUMNS = [
    ("animal", ["bat", "cat", "dog", "gull"]),
    ("legs", None),
    ("flies", ["false", "true"]),
    ("type", ["mammal", "bird"]),
]
SOURCE = OpenMLSource(ids=(7,), leading=1, labels=({"mammal": "1", "bird": "2"},))


def test_columns_and_labels_take_the_catalogues_form(server: Server) -> None:
    server.offer(7, COLUMNS, ROWS)
    (X_fetched, y), checked = fetch_rows(small(), SOURCE)
    assert_array_equal(X_fetched, X)
    assert_array_equal(y, Y)
    assert X_fetched.flags.c_contiguous
    assert checked == "rows, in any order"


def test_a_second_time_nothing_is_asked(server: Server) -> None:
    server.offer(7, COLUMNS, ROWS)
    fetch_rows(small(), SOURCE)
    asked = len(server.asked)
    assert asked == 4
    fetch_rows(small(), SOURCE)
    assert len(server.asked) == asked


def test_a_changed_value_is_told_from_a_changed_class(server: Server) -> None:
    changed = [["cat", "9", *ROWS[0][2:]], *ROWS[1:]]
    server.offer(7, COLUMNS, changed)
    _, checked = fetch_rows(small(), SOURCE)
    assert checked == "shape and class counts only: some values differ"
    server.offer(8, COLUMNS, [[*ROWS[0][:3], "bird"], *ROWS[1:]])
    with pytest.raises(
        DatasetUnavailableError, match=r"under 8 must have 4 rows.*'2':"
    ):
        fetch_rows(small(), replace(SOURCE, ids=(8,)))


def test_other_shapes_are_refused(server: Server) -> None:
    server.offer(7, COLUMNS, ROWS[:3])
    with pytest.raises(DatasetUnavailableError, match="found 3 rows"):
        fetch_rows(small(), SOURCE)
    server.offer(8, COLUMNS, ROWS)
    with pytest.raises(DatasetUnavailableError, match="3 features instead of 2"):
        fetch_rows(small(), replace(SOURCE, ids=(8,), leading=0))


def test_missing_values_are_dropped_replaced_or_refused(server: Server) -> None:
    gap = [*ROWS, ["dog", "?", "true", "mammal"], ["dog", "3", "?", "mammal"]]
    server.offer(7, COLUMNS, gap)
    (dropped, _), checked = fetch_rows(small(), replace(SOURCE, missing="drop"))
    assert_array_equal(dropped, X)
    assert checked == "rows, in any order"
    filled = small(np.vstack([X, [[-1, 1], [3, -1]]]), np.append(Y, ["1", "1"]))
    (replaced, _), _ = fetch_rows(filled, replace(SOURCE, missing=-1.0))
    assert_array_equal(replaced[4:], [[-1, 1], [3, -1]])
    with pytest.raises(DatasetUnavailableError, match="found missing values"):
        fetch_rows(filled, SOURCE)


def test_nominal_numbers_are_numbers_and_others_are_places(server: Server) -> None:
    columns = [("a", ["5", "1", "3"]), ("b", ["low", "high"]), ("class", ["1", "2"])]
    rows = [["1", "high", "1"], ["3", "low", "2"], ["5", "low", "1"], ["5", "low", "1"]]
    server.offer(7, columns, rows)
    expected = np.array([[1.0, 1.0], [3.0, 0.0], [5.0, 0.0], [5.0, 0.0]])
    (fetched, _), checked = fetch_rows(small(expected), OpenMLSource(ids=(7,)))
    assert_array_equal(fetched, expected)
    assert checked == "rows, in any order"


def test_a_numeric_target_becomes_text_without_a_point(server: Server) -> None:
    numeric = [("a", None), ("b", None), ("class", None)]
    rows = [[*map(str, x), y] for x, y in zip(X.tolist(), Y.tolist(), strict=True)]
    server.offer(7, numeric, rows)
    (_, y), checked = fetch_rows(small(), OpenMLSource(ids=(7,)))
    assert_array_equal(y, Y)
    assert checked == "rows, in any order"


def test_of_several_renamings_the_fitting_one_is_taken(server: Server) -> None:
    columns = [*COLUMNS[1:3], ("class", ["a", "b"])]
    rows = [
        [*row[1:3], "a" if y == "1" else "b"]
        for row, y in zip(ROWS, Y.tolist(), strict=True)
    ]
    server.offer(7, columns, rows)
    renamings = ({"a": "2", "b": "1"}, {"a": "1", "b": "2"})
    (_, y), _ = fetch_rows(small(), OpenMLSource(ids=(7,), labels=renamings))
    assert_array_equal(y, Y)
    by_count = OpenMLSource(ids=(7,), labels_by_count=True)
    (_, y), _ = fetch_rows(small(), by_count)
    assert_array_equal(y, Y)


def test_views_are_joined_and_must_agree(server: Server) -> None:
    one = [("a", None), ("class", ["1", "2"])]
    for number, j in ((7, 0), (8, 1)):
        rows = [[str(x[j]), y] for x, y in zip(X.tolist(), Y.tolist(), strict=True)]
        server.offer(number, one, rows)
    (fetched, _), _ = fetch_rows(small(), OpenMLSource(ids=(7, 8)))
    assert_array_equal(fetched, X)
    server.offer(9, one, [["0", "2"]] * 4)
    with pytest.raises(DatasetUnavailableError, match="parts do not have the same"):
        fetch_rows(small(), OpenMLSource(ids=(7, 9)))


def test_an_unknown_number_is_said(server: Server) -> None:
    with pytest.raises(DatasetUnavailableError, match="dataset 3 could not be read"):
        fetch_rows(small(), replace(SOURCE, ids=(3,)))
    assert server.asked == ["/api/v1/json/data/3"]


def test_without_network_a_sentence_says_how_to_get_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    monkeypatch.setattr(sklearn_openml.time, "sleep", lambda _: None)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    point_at(f"http://127.0.0.1:{port}", monkeypatch)  # nobody listens there any more
    message = r"Zoo: OpenML's dataset 62 could not be downloaded.*zoo\.csv\.gz.*RPNB_DA"
    with pytest.raises(DatasetUnavailableError, match=message):
        load("zoo")


WORDS = ["zero", "one", "two", "three", "four", "five", "six"]


def openml_form(name: str, X: FloatArray, y: LabelArray) -> tuple[Any, Any]:
    """Columns and rows of a dataset as OpenML has them, from ours."""
    numbers = [[f"{value:.12g}" for value in x] for x in X.tolist()]
    labels = sorted(set(y.tolist()))
    entry = describe(name)
    assert entry.openml is not None
    if entry.openml.labels_by_count:
        renaming = {label: str(i + 1) for i, label in enumerate(labels)}
    elif entry.openml.labels:
        # The second renaming where there are two: it must be found by the rows.
        renaming = {ours: theirs for theirs, ours in entry.openml.labels[-1].items()}
    else:
        renaming = {label: label for label in labels}
    columns: list[Any] = [(f"V{j + 1}", None) for j in range(X.shape[1])]
    if name == "Zoo":
        columns = [
            (c, v if j == 12 else ["false", "true"]) for j, (c, v) in enumerate(columns)
        ]
        numbers = [
            [
                cell if j == 12 else ("false", "true")[int(cell)]
                for j, cell in enumerate(row)
            ]
            for row in numbers
        ]
    if name == "Soybean":
        columns = [(c, WORDS) for c, _ in columns]
        numbers = [
            ["?" if cell == "-1" else WORDS[int(cell)] for cell in row]
            for row in numbers
        ]
    front = [[f"n{i % 9}"] * entry.openml.leading for i in range(len(X))]
    names = [f"n{i}" for i in range(9)]
    columns = [(f"id{j}", names) for j in range(entry.openml.leading)] + columns
    target = None if name == "Satimage" else sorted(renaming.values())
    columns.append(("class", target))
    rows = [
        [*a, *b, renaming[label]]
        for a, b, label in zip(front, numbers, y.tolist(), strict=True)
    ]
    if entry.openml.rows is not None:
        rows += rows[:5]  # the rows that do not belong to it
    if entry.openml.missing == "drop":
        rows.insert(3, ["?", *rows[0][1:]])
    return columns, rows


@pytest.mark.parametrize(
    "name",
    [
        *("Breast Cancer", "Conn Bench Vowel", "Ecoli", "Hayes Roth", "Led7digit"),
        *("Musk1", "Satimage", "Soybean", "Tae", "Twonorm", "Vertebral", "Zoo"),
    ],
)
def test_real_rows_in_openmls_form_become_the_catalogues(
    name: str, data_folder: Path, server: Server
) -> None:
    ours = load(name, source="file", data=data_folder)
    entry = describe(name)
    assert entry.openml is not None
    server.offer(entry.openml.ids[0], *openml_form(name, ours.X, ours.y))
    fetched = load(name, source="openml")
    assert_array_equal(fetched.X, ours.X)
    assert_array_equal(fetched.y, ours.y)
    assert fetched.description.obtained == "downloaded"
    assert fetched.description.checked == "rows, in any order"
    assert fetched.description.stands_for is None
