"""The records that a pass reads and writes: the classes' state, the kernels' state."""

from math import log1p
from typing import NamedTuple

from rpnb.core.bayes.densities import Gaussians, Prior
from rpnb.core.bayes.moments import Moments
from rpnb.core.calibration.cells import ScoreCells
from rpnb.core.kernels.arrays import BoolArray, FloatArray, SingleArray
from rpnb.core.kernels.compiling.compiled import compiled

# What is learnt from a row after its prediction.
LEARN_NOTHING = 0
LEARN_MISTAKES = 1
LEARN_ALL = 2


class ClassState(NamedTuple):
    """Eligibility, counts and priors of M classes."""

    eligible: BoolArray
    """(M,) whether the class is active: declared or seen, and so may be predicted"""
    seen: FloatArray
    """(M,) weight of all rows seen of the class, learnt or not; it fades as the
    moments do where the prior follows it"""
    bias: FloatArray
    """(M,) K·log P(y_m), up to a constant common to all classes"""
    count_factor: float
    """K where the prior follows the counts `seen`, 0 where it is fixed"""


@compiled
def set_bias_from_counts(classes: ClassState) -> None:
    """Set the bias of every class from its count, where the prior follows counts.

    Always by compiled code: NumPy's own log1p of an array may differ in the last bit
    from that of a number, depending on the processor.
    """
    for m in range(classes.seen.shape[0]):
        classes.bias[m] = classes.count_factor * log1p(classes.seen[m])


class KernelState(NamedTuple):
    """The state that a pass reads and writes."""

    R: SingleArray
    """(p, F) the K matrices side by side; (0, F) if rows are projected already"""
    scale: float
    """1/√q"""
    prior: Prior
    moments: Moments
    gaussians: Gaussians
    classes: ClassState
    keep: float
    """γ: how much of the past is left after a row of weight one; 1 forgets nothing"""
    cells: ScoreCells
    """where scores are written that calibration learns from"""
