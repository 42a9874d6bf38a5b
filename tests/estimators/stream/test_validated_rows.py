"""Rows that are checked once for many predictions."""

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest

from rpnb.baselines import GaussianNB
from rpnb.estimators.stream.validated_rows import ValidatedRows

X = np.arange(12.0).reshape(4, 3) ** 2
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (FRAME.rename(columns={"a": "d"}), "feature names"),
        (FRAME[["a", "b"]], "feature names"),
    ],
)
def test_they_have_the_width_and_the_names_that_were_learned(
    other: object, message: str
) -> None:
    model = GaussianNB().partial_fit(FRAME, [0, 1, 0, 1])
    ValidatedRows(model, FRAME)
    with pytest.raises(ValueError, match=message):
        ValidatedRows(model, other)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
