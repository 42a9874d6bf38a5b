"""Labels, ids and names of requests: which are accepted, and how learners get labels.

A label is checked once where its request is read (`check_label_values`) and compared
once with the classes of its model, in the transaction that writes it
(`Group.accept_labels`). Only a label that is a new class is shown to the learner
before it is written. The learner then numbers it.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpnb.serve.limits import invalid

Label = str | int | bool

#: Types of labels, as messages call them.
KIND_NAMES: dict[type, str] = {str: "text", int: "integers", bool: "booleans"}
#: Longest label, id or name, in characters.
LONGEST_TEXT = 200
_TEXT_RULE = f"must be 1 to {LONGEST_TEXT} printable characters"
_DTYPES: dict[type, Any] = {str: np.str_, int: np.int64, bool: np.bool_}


def check_label_values(labels: Any, start: int = 0, kind: Any = None) -> list[Label]:
    """Return labels that are all text, all integers or all booleans.

    Parameters
    ----------
    labels
        Some labels of a request.
    start
        Number of the first of them in the request, for messages.
    kind
        Type of the request's first label; by default that of the first one here.
    """
    kind = kind or type(labels[0])
    for i, label in enumerate(labels, start):
        if type(label) not in KIND_NAMES:
            raise invalid(f"label {i} must be text, an integer or a boolean", row=i)
        if type(label) is not kind:
            raise invalid(f"label {i} is of another type than label 0", row=i)
        if kind is str and not _is_short_text(label):
            raise invalid(f"label {i} {_TEXT_RULE}", row=i)
        if kind is int and not -(2**63) <= label < 2**63:
            raise invalid(f"label {i} must fit into 64 bits", row=i)
    found: list[Label] = labels
    return found


def check_ids(ids: Any, start: int = 0) -> list[str]:
    """Return ids of rows, the first of which has the number `start` in its request."""
    for i, each in enumerate(ids, start):
        if not _is_short_text(each):
            raise invalid(f"id {i} {_TEXT_RULE}", row=i)
    found: list[str] = ids
    return found


def check_names(names: list[Any], what: str) -> tuple[str, ...]:
    """Return names, which must be distinct; `what` is what they name, in messages."""
    for i, each in enumerate(names):
        if not _is_short_text(each):
            raise invalid(f"{what} {i} {_TEXT_RULE}", row=i)
    if len(set(names)) < len(names):
        raise invalid(f"each name in {what}s must occur only once")
    return tuple(names)


def _is_short_text(value: Any) -> bool:
    """Return whether a value is text that fits a log, a page and a file."""
    return type(value) is str and 0 < len(value) <= LONGEST_TEXT and value.isprintable()


def kind_of(labels: Iterable[Label]) -> type | None:
    """Return the type of labels that all have the same one; None without labels."""
    for label in labels:
        return type(label)
    return None


def as_array(labels: Sequence[Label]) -> NDArray[Any]:
    """Return labels of one type as the array that learners take."""
    return np.array(labels, dtype=_DTYPES[type(labels[0])])
