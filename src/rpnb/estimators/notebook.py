"""Display of models in notebooks: scikit-learn's diagram and a line of facts."""

import pickle
from html import escape
from typing import Any

# Number of classes named, and of letters of each name.
_NAMED, _LETTERS = 6, 24
# No colours: the notebook's own suit its light and dark themes.
_STYLE = "margin:0.4em 0 0.2em;font-size:0.92em;line-height:1.4;opacity:0.85"


def with_facts(model: Any, diagram: str) -> str:
    """Return scikit-learn's diagram of a model with a line of facts below."""
    facts = " · ".join(escape(each) for each in facts_of(model))
    return f'{diagram}<div class="rpnb-facts" style="{_STYLE}">{facts}</div>'


def bundle_with_facts(model: Any, bundle: dict[str, str]) -> dict[str, str]:
    """Return the forms in which a notebook can show a model, with facts in HTML."""
    if "text/html" not in bundle:  # scikit-learn may be configured to show text only
        return bundle
    return {**bundle, "text/html": with_facts(model, bundle["text/html"])}


def facts_of(model: Any) -> list[str]:
    """Return facts about a model: classes, features, rows, updates, size."""
    if not hasattr(model, "classes_"):
        return [f"{type(model).__name__} that has seen no rows yet"]
    names = [_short(str(label)) for label in model.classes_[:_NAMED]]
    more = len(model.classes_) - len(names)
    if more > 0:
        names.append(f"{more:,} more")
    facts = [
        f"{_counted(len(model.classes_), 'class', 'classes')}: {', '.join(names)}",
        _counted(model.n_features_in_, "feature", "features"),
    ]
    if hasattr(model, "n_samples_seen_"):
        facts.append(f"{_counted(model.n_samples_seen_, 'row', 'rows')} seen")
        facts.append(_counted(model.n_updates_, "update", "updates"))
    else:
        facts.append("does not learn")
    size = size_of(model)
    return facts if size is None else [*facts, _bytes(size)]


def _counted(n: int, one: str, many: str) -> str:
    return f"{n:,} {one if n == 1 else many}"


def _short(text: str) -> str:
    return text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"


def _bytes(size: int) -> str:
    """Return a size with its unit.

    >>> _bytes(980), _bytes(20_480), _bytes(3_500_000)
    ('980 bytes', '20 kB', '3.5 MB')
    """
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1e3:,.0f} kB" if size < 1e6 else f"{size / 1e6:,.1f} MB"


class _Counter:
    """A file that counts the bytes written to it and discards them."""

    def __init__(self) -> None:
        self.size = 0

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self.size += size
        return size


def size_of(model: Any) -> int | None:
    """Return the size of a learner's pickle, or None if it cannot be pickled.

    The pickle is only counted, and never read. Unlike the memory of the process, this
    is the size of the learner alone, and comparable between libraries.
    """
    counter = _Counter()
    try:
        pickle.Pickler(counter, protocol=5).dump(model)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    return counter.size
