"""What to say of learners that have learnt nothing, and of the columns of a file."""

from collections.abc import Mapping, Sequence

from rpnb.evaluate.evaluation import Evaluation
from rpnb.evaluate.result import RunFacts

# Names of columns that are shown, at most.
_SHOWN, _LONGEST = 8, 60
# Fewer rows than this for each class are few.
_FEW = 30
# Where fewer rows than this have another label than the one before, they are sorted.
_SORTED = 0.05


def column_lines(facts: RunFacts) -> list[str]:
    """Return lines that name the columns by what became of them."""
    lines = []
    if facts.numbers:
        lines.append(f"numbers     {_listed(facts.numbers)}")
    if facts.categories:
        named = [f"{name} ({count} values)" for name, count in facts.categories.items()]
        lines.append(f"categories  {_listed(named)}")
    if facts.dropped:
        named = [f"{name} ({why})" for name, why in facts.dropped.items()]
        lines.append(f"left out    {_listed(named)}")
    return lines


def _listed(names: Sequence[str]) -> str:
    shown = [n if len(n) <= _LONGEST else n[:_LONGEST] + "…" for n in names[:_SHOWN]]
    if len(names) > _SHOWN:
        shown.append(f"… ({len(names):,} in all)")
    return ", ".join(shown)


def advice(evaluation: Evaluation, facts: RunFacts) -> list[str]:
    """Return a sentence for learners that do not beat the references, if there are any.

    It says what to try: other rows, other columns, or another learner. Of a single
    label nothing can be learnt.
    """
    references = [each for each in evaluation.participants if each.reference]
    learners = [each for each in evaluation.participants if not each.reference]
    if len(evaluation.labels) == 1:
        (only,) = evaluation.labels.labels
        return [f"All rows have the label {only!r}: nothing can be learnt."]
    if not references:
        return []
    best = min(references, key=lambda each: each.confusion.error)
    behind = [each for each in learners if each.confusion.error >= best.confusion.error]
    if not behind:
        return []
    names = " and ".join(each.name for each in behind)
    verb = "does" if len(behind) == 1 else "do"
    errors = {each.name: each.confusion.error for each in references}
    return [
        f"{names} {verb} not beat “{best.name}” ({best.confusion.error:.4f}): try "
        + "; ".join(_ideas(evaluation, facts, errors, all_behind=behind == learners))
        + "."
    ]


def _ideas(
    evaluation: Evaluation,
    facts: RunFacts,
    errors: Mapping[str, float],
    *,
    all_behind: bool,
) -> list[str]:
    """Return what may help, the most likely first."""
    ideas = []
    if facts.order == "file" and errors.get("same as last", 1.0) < _SORTED:
        ideas.append(
            "--shuffle 1, since the rows are sorted by label and each label comes as a "
            "surprise"
        )
    if not facts.scaled:
        ideas.append("--scale, if columns differ in size")
    if evaluation.rows < _FEW * len(evaluation.labels):
        ideas.append("more rows")
    if all_behind:
        ideas.append("other learners (rpnb compare)")
    ideas.append("columns that say more of the label")
    return ideas
