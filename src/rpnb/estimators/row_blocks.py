"""Rows of an RPNBClassifier that are shared out in blocks: statistics that add up."""

from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from rpnb.core.bayes.combining import Combiner
from rpnb.core.bayes.model import Model
from rpnb.core.bayes.moments import Moments
from rpnb.core.kernels.arrays import IntArray
from rpnb.core.passes.engine import BlockMoments, learn_blocks, observe_block
from rpnb.estimators.stream.learner import BlockStatistics
from rpnb.estimators.trust.probabilities import is_calibrated


class _Parameters(Protocol):
    """What decides whether rows can be shared out."""

    batch_size: Any
    scale: Any
    temperature: Any
    combiner: Combiner


def check_learns_blocks(parameters: _Parameters) -> None:
    """Refuse parameters with which a row depends on the one before it."""
    if parameters.batch_size == 1:
        raise ValueError(
            "RPNBClassifier with batch_size=1 predicts each row with what it has "
            "learnt from the row before, so rows cannot be shared out: set "
            "batch_size, for example to 10000"
        )
    if parameters.scale is not None:
        raise ValueError(
            f"RPNBClassifier with scale={parameters.scale!r} scales each row by those "
            "before it, so rows cannot be shared out: scale them beforehand, for "
            "example by StandardScaler, and set scale=None"
        )
    if is_calibrated(parameters.temperature, parameters.combiner):
        raise ValueError(
            f"RPNBClassifier with temperature={parameters.temperature!r} calibrates "
            "itself along the stream, so rows cannot be shared out: pass "
            "temperature=None or a number"
        )


def block_statistics(
    state: Model, X: NDArray[Any], y: IntArray, labels: IntArray, update: int
) -> BlockStatistics:
    """Predict the rows of a block, and return the moments of those to be learnt."""
    block = observe_block(state, X, y, labels, update)
    arrays = {"classes": block.classes, **block.moments._asdict()}
    return BlockStatistics(y, labels, arrays)


def learn_block_statistics(
    state: Model, blocks: Sequence[BlockStatistics], update: int
) -> None:
    """Add the moments of the blocks of one mini-batch, in their order."""
    parts = [
        BlockMoments(
            block.y,
            block.labels,
            block.arrays["classes"],
            Moments(*(block.arrays[name] for name in Moments._fields)),
        )
        for block in blocks
    ]
    learn_blocks(state, parts, update)
