"""Advice on learners that beat no reference, on rare classes, and on columns."""

from collections.abc import Sequence

import numpy as np

from rpnb.evaluate.evaluation import Evaluation, Participant
from rpnb.evaluate.result import RunFacts
from rpnb.report.html import listed

# Names of columns that are shown, at most.
_SHOWN, _LONGEST = 8, 60
# Fewer rows than this for each class are few.
_FEW = 30
# More labels of a single row than this are no mistakes.
_ONCE = 3
# Labels are autocorrelated where they change so much less often than in a random order.
_RUNS = 0.25
# Rows are sorted by label where such a share of each class lies in one stretch of rows,
# and such a share of the stretch is of the class: a few rows are out of place.
_TOGETHER = 0.8
# Classes of fewer rows, or of a smaller share of the mean class, may lie anywhere.
_FEWEST, _SMALLEST = 10, 0.02
# A class with this share of the rows leaves the others few.
_MOST = 0.8
# Metrics of how well rare classes are predicted.
_FOR_RARE = ("balanced_accuracy", "auc", "average_precision")


def column_lines(facts: RunFacts) -> list[str]:
    """Return lines that name the columns by their roles."""
    lines = []
    if facts.numbers:
        lines.append(f"numbers     {_listed(facts.numbers)}")
    if facts.categories:
        named = [
            f"{name} ({count:,} {'value' if count == 1 else 'values'})"
            for name, count in facts.categories.items()
        ]
        lines.append(f"categories  {_listed(named)}")
    if facts.texts:
        lines.append(f"text        {_listed(facts.texts)}")
    if facts.dates:
        lines.append(f"dates       {_listed(facts.dates)}")
    if facts.dropped:
        named = [f"{name} ({why})" for name, why in facts.dropped.items()]
        lines.append(f"left out    {_listed(named)}")
    return lines


def _listed(names: Sequence[str]) -> str:
    shown = [n if len(n) <= _LONGEST else n[:_LONGEST] + "…" for n in names[:_SHOWN]]
    if len(names) > _SHOWN:
        shown.append(f"… ({len(names):,} in all)")
    return ", ".join(shown)


def warning(evaluation: Evaluation, facts: RunFacts) -> str | None:
    """Return why a saved model is useless, if it is; shown before anything else."""
    if facts.saved is None or facts.order != "file" or not _is_sorted(evaluation):
        return None
    return (
        f"Do not use {facts.saved} for other rows: the rows of {facts.source} are "
        "sorted by label, so the model learned one class after the other, and the "
        "error below is that of repeating the last label. Learn the table with "
        "`rpnb fit`, which shuffles it."
    )


def hints(evaluation: Evaluation, facts: RunFacts) -> list[str]:
    """Return everything that a report says about problems, and what to try."""
    first = warning(evaluation, facts)
    return [*filter(None, (first,)), *facts.advice, *advice(evaluation, facts)]


def advice(evaluation: Evaluation, facts: RunFacts) -> list[str]:
    """Return sentences on rare classes, and on learners that beat no reference.

    They suggest other rows, other columns, another learner or other metrics. From a
    single label nothing can be learned.
    """
    references = [each for each in evaluation.participants if each.reference]
    learners = [each for each in evaluation.participants if not each.reference]
    if len(evaluation.labels) == 1:
        (only,) = evaluation.labels.labels
        return [f"All rows have the label {only!r}: nothing can be learned."]
    if not references:
        return []
    # Weights of classes are worth some errors.
    measure = _balanced_error if facts.weighted else _error
    best = min(references, key=measure)
    behind = [each for each in learners if measure(each) >= measure(best)]
    said = []
    if behind:
        names = listed([each.name for each in behind])
        verb = "does" if len(behind) == 1 else "do"
        figure = f"{'balanced ' if facts.weighted else ''}error {measure(best):.4f}"
        said.append(f"{names} {verb} not beat “{best.name}” ({figure}). ")
        if facts.order == "file" and _is_sorted(evaluation):
            said[-1] += (
                "The rows are sorted by label, so the next label is almost always the "
                "last one: use `rpnb fit`, or --shuffle 1, if their order has no "
                "meaning."
            )
        else:
            ideas = _ideas(evaluation, facts, behind, all_behind=behind == learners)
            said[-1] += f"Try {_alternatives(ideas)}."
    said += _on_similar_labels(evaluation)
    said += _on_single_rows(evaluation)
    return said + _on_rare_classes(evaluation, facts)


def _alternatives(ideas: Sequence[str]) -> str:
    """Return ideas as a list in a sentence.

    >>> [_alternatives(each) for each in (["a"], ["a", "b"], ["a, if b", "c", "d"])]
    ['a', 'a or b', 'a, if b; c; or d']
    """
    sign = ";" if any("," in each for each in ideas) else ","
    if len(ideas) < 3 and sign == ",":
        return " or ".join(ideas)
    return f"{sign} ".join([*ideas[:-1], f"or {ideas[-1]}"])


def _on_similar_labels(evaluation: Evaluation) -> list[str]:
    """Return a sentence on labels that differ only in case, if there are any."""
    alike: dict[str, list[str]] = {}
    for label in evaluation.labels.labels:
        if isinstance(label, str):
            alike.setdefault(label.casefold(), []).append(label)
    found = [each for each in alike.values() if len(each) > 1]
    if not found:
        return []
    names = listed([repr(label) for label in found[0]])
    which = "The labels" if len(found) == 1 else "Labels such as"
    return [f"{which} {names} differ only in case, and are different classes."]


def _on_single_rows(evaluation: Evaluation) -> list[str]:
    """Return a sentence on labels of a single row, if they may be mistakes.

    Such are labels with a typing error, and rows that do not belong to the table.
    """
    counts = evaluation.class_counts()
    once = [
        label
        for label, count in zip(evaluation.labels.labels, counts, strict=True)
        if count == 1
    ]
    if not 0 < len(once) <= _ONCE or counts.sum() < _FEW * len(counts):
        return []
    names = listed([repr(label) for label in once])
    if len(once) == 1:
        return [f"The label {names} has a single row: a mistake in the file?"]
    return [f"The labels {names} have a single row each: mistakes in the file?"]


def _error(each: Participant) -> float:
    """Return the share of wrong predictions."""
    return each.confusion.error


def _balanced_error(each: Participant) -> float:
    """Return the mean over the classes of their shares of wrong predictions."""
    figures = each.confusion.measure(["balanced_accuracy"])["cumulative"]
    return 1.0 - figures["balanced_accuracy"]


def _on_rare_classes(evaluation: Evaluation, facts: RunFacts) -> list[str]:
    """Return what to look at, and to try, where one class has most rows."""
    counts = evaluation.class_counts()
    share = float(counts.max() / counts.sum())
    asked = [name for name in _FOR_RARE if name in facts.metrics]
    if share < _MOST or (facts.weighted and asked):
        return []
    label = evaluation.labels.labels[int(counts.argmax())]
    hints = []
    if not asked:
        hints.append(f"--metrics {' '.join(_FOR_RARE)} measures them")
    if not facts.weighted and facts.weightable:
        hints.append("--class-weight balanced gives all classes the same weight")
    if not hints:
        return []
    return [
        f"{share:.1%} of the rows have the label {label!r}: the error hardly "
        f"reflects the others; {', and '.join(hints)}."
    ]


def _ideas(
    evaluation: Evaluation,
    facts: RunFacts,
    behind: Sequence[Participant],
    *,
    all_behind: bool,
) -> list[str]:
    """Return what may help, the most likely first."""
    ideas = []
    if facts.order == "file" and _change_ratio(evaluation) < _RUNS:
        ideas.append(
            "`rpnb fit`, or --shuffle 1, if the order of the rows has no meaning (the "
            "labels are autocorrelated)"
        )
    unscaled = any("Try --scale" in each for each in facts.advice)
    if not unscaled and {each.name for each in behind} & set(facts.sensitive):
        ideas.append("--scale, if columns differ in size")
    if evaluation.rows < _FEW * len(evaluation.labels):
        ideas.append("more rows")
    if all_behind:
        ideas.append("other learners (rpnb compare)")
    ideas.append("more informative columns")
    return ideas


def _changes(evaluation: Evaluation) -> int | None:
    """Return how often a label differs from the previous one, None if not counted."""
    for each in evaluation.participants:
        if each.reference and each.name == "same as last":
            return max(each.confusion.mistakes - 1, 0)  # the first row has none before
    return None


def _is_sorted(evaluation: Evaluation) -> bool:
    """Return whether each class is one run of rows, but for a few rows."""
    changes, classes = _changes(evaluation), len(evaluation.frequent_labels())
    if changes is None or classes < 2 or _change_ratio(evaluation) >= _RUNS:
        return False
    return changes <= 2 * (classes - 1) or _in_stretches(evaluation)


def _in_stretches(evaluation: Evaluation) -> bool:
    """Return whether each class has one stretch of rows with few of other classes."""
    places, counts = evaluation.class_history.places()
    totals = counts[-1]
    fewest = max(_FEWEST, _SMALLEST * totals.sum() / np.count_nonzero(totals))
    classes = np.flatnonzero(totals >= fewest)
    if classes.shape[0] < 2:
        return False
    rows = np.concatenate(([0], places))
    for number in classes:
        # The shortest stretch between two places that has enough rows of the class.
        seen = np.concatenate(([0], counts[:, number]))
        ends = np.searchsorted(seen, seen + _TOGETHER * totals[number])
        begins = np.flatnonzero(ends < seen.shape[0])
        within = seen[ends[begins]] - seen[begins]
        lengths = rows[ends[begins]] - rows[begins]
        if not (within >= _TOGETHER * lengths).any():
            return False
    return True


def _change_ratio(evaluation: Evaluation) -> float:
    """Return how often labels change, as a share of that in a random order."""
    changes, counts = _changes(evaluation), evaluation.class_counts()
    shares = counts / max(counts.sum(), 1)
    expected = float(counts.sum() * (1.0 - np.sum(shares**2)))
    return 1.0 if changes is None or expected == 0.0 else changes / expected
