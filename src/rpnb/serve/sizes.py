"""What a model and its challengers may hold together."""

from rpnb.serve.costs import state_numbers
from rpnb.serve.history import History
from rpnb.serve.limits import Limits, beyond
from rpnb.serve.specs import ModelSpec


def check_sizes(
    history: History, limits: Limits, classes: int, more: ModelSpec | None = None
) -> float:
    """Return about how many numbers the learners of a model hold; refuse too many.

    With `more`, as if that one were among them.
    """
    specs = [each.spec for each in history.live]
    numbers = sum(
        state_numbers(each.learner, each.parameters, each.width, max(classes, 2))
        for each in (specs if more is None else [*specs, more])
    )
    if numbers > limits.max_state:
        what = "the learner would hold too many numbers"
        if len(specs) + (more is not None) > 1:
            what = "the model and its challengers would hold too many numbers"
        raise beyond("max_state", limits.max_state, what)
    return numbers
