"""Model files of queries: their signatures and records."""

from pathlib import Path
from typing import Any

import pytest

from rpnb.baselines import GaussianNB
from rpnb.estimators.protocol import saved_model
from rpnb.estimators.saving.estimator import write_estimator
from rpnb.estimators.saving.files import ModelFileError
from rpnb.spark.streaming_query import (
    SavedBatch,
    _restore,
    save_with_batch,
    saved_batch,
)

KEY = b"k" * 32


def model() -> GaussianNB:
    return GaussianNB().fit([[0.0], [1.0]], ["a", "b"])


def test_a_file_with_a_key_is_read_with_it_alone(tmp_path: Path) -> None:
    path = tmp_path / "model.rpnb"
    saved = SavedBatch("query", 3, 10, 2)
    save_with_batch(model(), path, saved, key=KEY)
    assert saved_batch(path, key=KEY) == saved
    _restore(GaussianNB(), path, KEY)
    for other in (b"x" * 32,):
        with pytest.raises(ModelFileError, match="signed"):
            saved_batch(path, key=other)
        with pytest.raises(ModelFileError, match="signed"):
            _restore(GaussianNB(), path, other)
    save_with_batch(model(), path, saved)
    with pytest.raises(ModelFileError, match="not signed"):
        _restore(GaussianNB(), path, KEY)


@pytest.mark.parametrize(
    "change",
    [
        {"batch": -2},
        {"batch": 2.5},
        {"batch": "3"},
        {"batch": None},
        {"batch": True},
        {"batch": 2**70},
        {"rows": -1},
        {"rows": "x"},
        {"rows": []},
        {"mistakes": 11},
        {"truth": []},
        {"predicted": {"a": -1}},
        {"query": 5},
        {"more": 1},
    ],
)
def test_what_a_file_says_of_its_query_is_checked(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    path = tmp_path / "model.rpnb"
    held = {**SavedBatch("query", 3, 10, 2)._asdict(), **change}
    write_estimator(path, saved_model(model()), attached={"spark": held})
    with pytest.raises(ModelFileError, match="damaged"):
        saved_batch(path)
