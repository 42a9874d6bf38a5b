"""Probabilities along a stream, before each row is learnt.

`predict_then_learn` gives labels only. A model that changes with mistakes alone stands
still between them, so the rows up to the next mistake are asked for at once; any other
is asked row by row. The labels are those of `predict_then_learn`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray
from rpnb.evaluate.drivers.driver import Chances, chances_of

# Rows asked for at once at most, while no mistake is met.
_MOST = 4096


def chances_too(
    model: Any, X: Any, y: NDArray[Any], classes: Any, of: Chances
) -> tuple[NDArray[Any], FloatArray]:
    """Let a model predict, then learn, rows; return labels and probabilities.

    These are those of the answers or, for "truth", of the true labels. Where there is
    no answer for want of any class, the probability is NaN.
    """
    n = y.shape[0]
    parts: list[NDArray[Any]] = []
    chances = np.full(n, np.nan)
    still = _changes_with_mistakes_alone(model)
    done, ahead = 0, 1
    while done < n:
        stop = min(done + (ahead if still else 1), n)
        if not hasattr(model, "classes_"):
            stop = done + 1
        else:
            best = model.predict(X[done:stop])
            wrong = np.flatnonzero(best != y[done:stop])
            if wrong.shape[0]:
                stop = done + int(wrong[0]) + 1
            ahead = min(2 * ahead, _MOST) if not wrong.shape[0] else max(ahead // 2, 1)
            asked = y[done:stop] if of == "truth" else best[: stop - done]
            chances[done:stop] = chances_of(model, X[done:stop], asked)
        parts.append(model.predict_then_learn(X[done:stop], y[done:stop], classes))
        classes = None
        done = stop
    if any(part.dtype == object for part in parts):
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts), chances


def _changes_with_mistakes_alone(model: Any) -> bool:
    parameters = model.get_params(deep=False)
    return (
        parameters.get("update") == "mistakes"
        and parameters.get("batch_size") == 1
        and isinstance(parameters.get("class_prior"), str)
        and parameters["class_prior"] == "uniform"
    )
