"""The ablation of the pool: which members are left out, and which changes count."""

from typing import Any

import pooled_ablation
from rpnb.core.pooled.model import MEMBERS


def _runs(*errors: float) -> list[dict[str, Any]]:
    return [{"seed": seed, "error": error} for seed, error in enumerate(errors)]


def test_members_are_left_out_one_by_one_and_together() -> None:
    found = pooled_ablation.settings()
    for name in MEMBERS:
        assert found[f"without {name}"][0] == [m for m in MEMBERS if m != name]
    both, _ = found["without neighbours, binned_bayes"]
    assert set(MEMBERS) - set(both) == {"neighbours", "binned_bayes"}


def test_changes_count_beyond_one_percent_and_noise() -> None:
    names = ("worse", "better", "noisy", "small")
    usual = {("group", name): _runs(0.100, 0.100, 0.100) for name in names}
    streams = {
        ("group", "worse"): _runs(0.110, 0.111, 0.112),
        ("group", "better"): _runs(0.090, 0.091, 0.092),
        ("group", "noisy"): _runs(0.090, 0.130, 0.110),
        ("group", "small"): _runs(0.1005, 0.1005, 0.1005),
    }
    assert pooled_ablation.clear_changes(streams, usual) == (1, 1)
