"""Plans of studies: datasets, methods, and permutations of the rows.

All randomness is derived from the study's seed: permutation r of a dataset from (seed,
dataset, r), a learner's seed from (seed, dataset, r, method). A result thus does not
depend on which other datasets and methods are in the study. A dataset that is drawn
from a distribution is drawn again for each permutation, because a single draw can be
easy or hard for all methods.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.random import PCG64, SeedSequence
from numpy.typing import NDArray

from rpnb import datasets
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.datasets.dataset import Reading
from rpnb.datasets.loader import data_folder
from rpnb.study import methods as table
from rpnb.study.dataset_sources import is_offline

PERMUTATIONS = 10
QUICK_PERMUTATIONS = 3
# A quick study leaves out datasets with more rows or features than these.
QUICK_ROWS, QUICK_FEATURES = 1500, 50


class PlanError(ValueError):
    """A study cannot be planned as requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Datasets, methods, permutations, seed and data source of a study.

    See `make_plan` for the attributes.
    """

    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    permutations: int = PERMUTATIONS
    seed: int = 0
    reading: Reading = "paper"
    data: Path | None = None
    offline: bool = False

    @property
    def n_cells(self) -> int:
        """Number of pairs of a dataset and a method."""
        return len(self.datasets) * len(self.methods)

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return self.n_cells * self.permutations


def make_plan(
    names: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    *,
    permutations: int | None = None,
    seed: int = 0,
    reading: Reading = "paper",
    data: str | Path | None = None,
    quick: bool = False,
    offline: bool = False,
) -> Plan:
    """Check the options of `rpnb paper` and return the plan of the study.

    By default the datasets are the paper's 33, without those that `quick` and `offline`
    exclude, and the methods the paper's six; majority class and no change are always
    added. An offline study downloads no dataset, even if it is named.

    Raises
    ------
    PlanError
        If an option is invalid. For an unknown name, the message lists similar ones.
    """
    folder = None if data is None else Path(data)
    try:
        data_folder(folder)  # raises if it does not exist
        entries = [
            datasets.describe(name)
            for name in (datasets.names() if names is None else names)
        ]
        chosen = [table.find(name).name for name in methods or table.PAPER]
    except datasets.UnknownDatasetError as error:
        raise PlanError(f"{error} (`rpnb datasets` lists them)") from error
    except (datasets.DatasetError, table.UnknownMethodError) as error:
        raise PlanError(str(error)) from error
    if names is None and quick:
        entries = [e for e in entries if e.n <= QUICK_ROWS and e.p <= QUICK_FEATURES]
    if names is None and offline:
        entries = [entry for entry in entries if is_offline(entry, folder)]
    if not entries:
        raise PlanError("datasets must name at least one dataset, got none")
    if permutations is None:
        permutations = QUICK_PERMUTATIONS if quick else PERMUTATIONS
    if permutations < 1:
        raise PlanError(f"permutations must be at least 1, got {permutations}")
    if seed < 0:
        raise PlanError(f"seed must not be negative, got {seed}")
    return Plan(
        datasets=tuple(dict.fromkeys(entry.name for entry in entries)),
        methods=tuple(dict.fromkeys([*chosen, *table.REFERENCES])),
        permutations=permutations,
        seed=seed,
        reading=reading,
        data=folder,
        offline=offline,
    )


def permutation(seed: int, dataset: str, r: int, n: int) -> IntArray:
    """Return permutation r of the n rows of a dataset.

    The rows are sorted by n random 64-bit words, so that the result depends only on
    NumPy's PCG64, whose bits are the same in every version.
    """
    words = PCG64(_entropy(seed, dataset, r)).random_raw(n)
    order: IntArray = np.argsort(words, kind="stable").astype(np.int64)
    return order


def learner_seed(seed: int, dataset: str, r: int, method: str) -> int:
    """Return the seed of a method's learner on permutation r of a dataset."""
    return int(_entropy(seed, dataset, r, method).generate_state(1)[0])


def draw_seed(seed: int, dataset: str, r: int) -> int:
    """Return the seed from which a dataset's rows are drawn for permutation r."""
    return int(_entropy(seed, dataset, r, "rows").generate_state(1)[0])


def _entropy(seed: int, dataset: str, r: int, use: str = "") -> SeedSequence:
    # As one text, since SeedSequence ignores trailing zeros of a list of numbers.
    text = "\n".join([str(seed), dataset, str(r), use])
    digest = hashlib.sha256(text.encode()).digest()
    return SeedSequence(int.from_bytes(digest[:16], "little"))


def content_of(X: FloatArray, y: NDArray[np.str_]) -> str:
    """Return a fingerprint of labelled rows in their order.

    Unlike `rpnb.datasets.dataset.fingerprint` it depends on the order, because a
    permutation of reordered rows is another stream.
    """
    digest = hashlib.sha256(repr(X.shape).encode())
    digest.update(np.ascontiguousarray(X + 0.0, dtype="<f8").tobytes())
    digest.update("\n".join(y.tolist()).encode())
    return digest.hexdigest()[:32]
