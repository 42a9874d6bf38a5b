"""Non-numeric columns of frames are refused by name; numbers pass."""

from typing import Any

import numpy as np
import pandas  # type: ignore[import-untyped]
import polars
import pytest

from rpnb.baselines import make

BAD: dict[str, tuple[Any, str]] = {
    "text": (["u", "v", "w"], "text"),
    "mixed": ([1, "x", 2], "text"),
    "date": (pandas.to_datetime(["2020-01-01"] * 3), "dates or times"),
    "span": (pandas.to_timedelta([1, 2, 3]), "dates or times"),
    "category": (pandas.Categorical(["p", "q", "p"]), "categories"),
}
GOOD = {
    "object": np.array([1, 2, 3], object),
    "coded": pandas.Categorical([1, 2, 1]),
    "integers": pandas.array([1, 2, 3], dtype="Int64"),
    "booleans": [True, False, True],
    "digits": np.array(["1", 2, 3], object),
}


@pytest.mark.parametrize(
    ("name", "library"),
    [
        *((name, "pandas") for name in BAD),
        *((name, "polars") for name in BAD if name != "mixed"),  # it has none of these
    ],
)
def test_a_column_that_holds_no_numbers_is_named(name: str, library: str) -> None:
    values, what = BAD[name]
    X: Any = pandas.DataFrame({"a": [1.0, 2.0, 3.0], name: values})
    if library == "polars":
        X = polars.from_pandas(X)
    with pytest.raises(ValueError, match=f"column '{name}' holds {what}"):
        make("PA").partial_fit(X, [0, 1, 0])


@pytest.mark.parametrize("name", GOOD)
def test_columns_of_numbers_pass_whatever_their_type(name: str) -> None:
    X = pandas.DataFrame({"a": [1.0, 2.0, 3.0], name: GOOD[name]})
    assert make("PA").partial_fit(X, [0, 1, 0]).n_samples_seen_ == 3


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_value_that_is_missing_is_named_by_its_column(library: str) -> None:
    X: Any = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, np.nan]})
    if library == "polars":
        X = polars.from_pandas(X, nan_to_null=False)
    with pytest.raises(ValueError, match=r"contains NaN \(row 1, column 'b'\)"):
        make("PA").partial_fit(X, [0, 1])
