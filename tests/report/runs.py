"""A small run of five learners, for tests of reports."""

from typing import Any

import numpy as np

from rpnb import PooledClassifier, RPNBClassifier
from rpnb.baselines import make
from rpnb.core.kernels.arrays import IntArray
from rpnb.evaluate.evaluation import Evaluation, native_evaluation
from rpnb.evaluate.result import RunFacts
from rpnb.evaluate.stream_blocks import ChunkBlocks
from rpnb.files import LabelledArrays
from rpnb.report.run_page import stream_page
from rpnb.report.sections.row_reasons import LastRows

FACTS = RunFacts(
    source="some.csv",
    p=3,
    order="file",
    seconds=2.5,
    interrupted=False,
    loaded=None,
    window=50,
    written=(),
    numbers=("x", "y", "z"),
)
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 600)
X = RNG.normal(size=(600, 3)) + 2.0 * (Y[:, None] == [0, 1, 2])
LABELS = ("one", "two", "three")


def learners() -> dict[str, Any]:
    return {
        "GaussianNB": make("GaussianNB"),
        "RPNB": RPNBClassifier(6, random_state=0),
        "Perceptron": make("Perceptron"),
        "PA": make("PA"),
        "Pooled": PooledClassifier(n_projections=16, random_state=0),
    }


def evaluated(
    models: dict[str, Any],
    labels: tuple[str, ...] = LABELS,
    n: int = 600,
    *,
    y: IntArray = Y,
    alone: bool = False,
) -> Evaluation:
    """Run models on the first n rows, with references unless they are `alone`."""
    references = {
        "majority class": make("MajorityClass"),
        "same as last": make("NoChange"),
    }
    references = {} if alone else references
    evaluation = native_evaluation(
        models, references, window=50, probabilities="truth", compare=True
    )
    blocks = ChunkBlocks(evaluation.labels)
    data = LabelledArrays("arrays", X[:n], np.array(labels)[y[:n]])
    for chunk in data.chunks(60):
        evaluation.step(blocks.block(chunk))
    for place, each in enumerate(evaluation.participants):
        each.seconds = 0.25 + place
    return evaluation


def page_of(evaluation: Evaluation, facts: RunFacts = FACTS) -> str:
    rows = LastRows(["x", "y", "z"])
    rows.add(X[-5:], np.array(LABELS)[Y[-5:]])
    return stream_page(evaluation, facts, "rpnb compare some.csv", rows)
