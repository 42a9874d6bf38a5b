"""The encoder: codes in order of appearance, running means, for any chunking."""

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from rpnb.files.encoding.column_encoder import ColumnEncoder
from rpnb.files.reading import FileError, ReadOptions

KINDS: Any = {"number": "number", "word": "category"}
Row = tuple[float | None, str | None, str]


def rows_strategy() -> st.SearchStrategy[list[Row]]:
    numbers = st.one_of(st.none(), st.floats(-1e6, 1e6))
    words = st.one_of(st.none(), st.sampled_from("uvw"))
    row = st.tuples(numbers, words, st.sampled_from("abc"))
    return st.lists(row, min_size=1, max_size=12)


def batch(rows: list[Row]) -> Any:
    numbers, words, labels = zip(*rows, strict=True)
    return pa.record_batch(
        {
            "number": pa.array(numbers, pa.float64()),
            "word": pa.array(words, pa.string()).dictionary_encode(),
            "label": pa.array(labels, pa.string()),
        }
    )


def slowly(rows: list[Row]) -> Any:
    """Return the expected result of the encoder, row by row."""
    words: list[str] = []
    total, count, X = 0.0, 0, []
    for number, word, _ in rows:
        if number is None:
            filled = total / max(count, 1)
        else:
            filled, total, count = number, total + number, count + 1
        value = "" if word is None else word
        if value not in words:
            words.append(value)
        X.append((filled, float(words.index(value))))
    return np.array(X)


def encoder(categorical: str = "codes", **known: Any) -> ColumnEncoder:
    options = ReadOptions(target="label", missing="mean", categorical=categorical)
    return ColumnEncoder("file", KINDS, options, known)


def cut(rows: list[Row], data: st.DataObject) -> list[list[Row]]:
    places = data.draw(st.lists(st.integers(0, len(rows)), max_size=4))
    edges = [0, *sorted(places), len(rows)]
    parts = [rows[a:b] for a, b in pairwise(edges)]
    return [part for part in parts if part]


def encode_all(
    machine: ColumnEncoder, parts: list[list[Row]], first: int = 1
) -> list[Any]:
    chunks = []
    for part in parts:
        numbers = np.arange(first, first + len(part))
        chunks.append(machine.encode(batch(part), numbers))
        first += len(part)
    return chunks


@given(rows_strategy(), st.data())
def test_the_cut_does_not_matter_and_the_rows_are_those_of_a_slow_loop(
    rows: list[Row], data: st.DataObject
) -> None:
    chunks = encode_all(encoder(), cut(rows, data))
    assert_array_equal(np.concatenate([chunk.X for chunk in chunks]), slowly(rows))
    labels = [label for _, _, label in rows]
    assert np.concatenate([chunk.y for chunk in chunks]).tolist() == labels
    seen = list(dict.fromkeys(labels))
    codes = np.concatenate([chunk.codes for chunk in chunks])
    assert [seen[code] for code in codes] == labels


@given(rows_strategy(), rows_strategy(), st.data())
def test_resuming_from_a_position_is_as_if_never_stopped(
    before: list[Row], after: list[Row], data: st.DataObject
) -> None:
    whole = encoder()
    first = encode_all(whole, [before])
    rest = encode_all(whole, cut(after, data), len(before) + 1)
    # The position of the first rows, though the encoder has seen more since.
    state = json.loads(json.dumps(whole.to_json(first[0].position)))
    alone = encoder()
    assert state == json.loads(
        json.dumps(alone.to_json(encode_all(alone, [before])[0].position))
    )
    again = encoder()
    again.resume(state)
    resumed = encode_all(again, [after], len(before) + 1)
    for name in ("X", "y", "codes"):
        together = np.concatenate([getattr(chunk, name) for chunk in rest])
        assert_array_equal(getattr(resumed[0], name), together)
    assert again.to_json(resumed[0].position) == whole.to_json(rest[-1].position)


@given(rows_strategy())
def test_one_hot_columns_are_the_codes_spread_out(rows: list[Row]) -> None:
    words = list(dict.fromkeys("" if word is None else word for _, word, _ in rows))
    machine = encoder("one-hot", word=words)
    (chunk,) = encode_all(machine, [rows])
    codes = slowly(rows)[:, 1].astype(int)
    assert_array_equal(chunk.X[:, 1:], np.eye(len(words))[codes])
    assert machine.feature_names() == ["number", *(f"word={word}" for word in words)]


def test_one_hot_refuses_a_new_value() -> None:
    machine = encoder("one-hot", word=["u", "v"])
    with pytest.raises(FileError, match="row 2, column word: 'w' is a new value"):
        encode_all(machine, [[(1.0, "u", "a"), (1.0, "w", "a")]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": "other"}, "the same target"),
        ({"missing": "refuse"}, "the same missing"),
        ({"columns": {"word": "category", "number": "number"}}, "the same columns"),
    ],
)
def test_other_columns_or_options_cannot_be_resumed(
    change: dict[str, Any], message: str
) -> None:
    machine = encoder()
    (chunk,) = encode_all(machine, [[(1.0, "u", "a")]])
    with pytest.raises(FileError, match=message):
        encoder().resume({**machine.to_json(chunk.position), **change})


def test_labels_of_another_kind_are_refused_where_they_begin() -> None:
    machine = ColumnEncoder("file", {"x": "number"}, ReadOptions(target="y"))
    machine.encode(pa.record_batch({"x": [1.0], "y": [1]}), np.array([1]))
    with pytest.raises(FileError, match="row 2, column y: the labels are text here"):
        machine.encode(pa.record_batch({"x": [1.0], "y": ["a"]}), np.array([2]))
