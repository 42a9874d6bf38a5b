"""The fingerprint identifies a projection, however it is stored."""

import numpy as np
import pytest

from rpnb.core.projection import record
from rpnb.core.projection.matrices import DISTRIBUTIONS, Distribution
from rpnb.core.projection.record import fingerprint, make_projection


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("kept", [True, False])
def test_the_fingerprint_depends_on_the_seed_and_on_the_features(
    distribution: Distribution, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not kept:
        monkeypatch.setattr(record, "LARGEST_MATRIX", 0)
    features = np.arange(70, dtype=np.uint64)
    found = [
        fingerprint(make_projection(distribution, seed, of, 2, 3))
        for seed, of in ((1, features), (1, features), (2, features), (1, features + 9))
    ]
    assert found[0] == found[1]
    assert len({*found}) == 3
