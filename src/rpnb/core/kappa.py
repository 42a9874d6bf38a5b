"""Agreement of predictions and labels, corrected for chance."""

from math import nan
from typing import Any

from numpy.typing import NDArray


def beyond(share: float, plain: float) -> float:
    """Return (share − plain)/(1 − plain), the gain over a baseline; NaN if it is 1."""
    return (share - plain) / (1.0 - plain) if plain < 1.0 else nan


def cohen(agreed: float, truth: NDArray[Any], predicted: NDArray[Any]) -> float:
    r"""Return Cohen's kappa, given the share of predictions that agree with the labels.

    $$\kappa = \frac{p - p_c}{1 - p_c}, \qquad
      p_c = \sum_m \frac{n_{m\cdot}}{n} \frac{n_{\cdot m}}{n}$$
    (Cohen, 1960). `agreed` is p; `truth` and `predicted` (M,) count how often each
    class was the label and the prediction. A row without a prediction is not counted
    in `predicted`.
    """
    total = truth.sum()
    return beyond(agreed, float((truth / total) @ (predicted / total)))
