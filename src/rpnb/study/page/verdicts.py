"""Appearance of verdicts: a sign, a style and words; and letters for notes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from string import ascii_lowercase

from rpnb.report.html import Html, tag
from rpnb.study.agreement import Agreement
from rpnb.study.analysis import StudyAnalysis


@dataclass(frozen=True, slots=True)
class VerdictStyle:
    """Style, sign and words of a verdict."""

    style: str
    """class of the style sheet"""
    sign: str
    words: str


#: From agreement to disagreement, then values that cannot be judged.
LOOKS: Mapping[str, VerdictStyle] = {
    "close": VerdictStyle("close", "✓", "agrees: at most 2 standard errors apart"),
    "near": VerdictStyle("near", "≈", "agrees: 2 to 3 standard errors apart"),
    "explained": VerdictStyle("explained", "a", "differs, for a known reason"),
    "differs": VerdictStyle("differs", "≠", "differs, for an unknown reason"),
    "unjudged": VerdictStyle("unjudged", "?", "not judged: no variance"),
    "missing": VerdictStyle("missing", "–", "missing: not run"),
}

#: What a value measures, in short.
FIGURES = {"error": "error", "f1": "F1", "updates": "updates"}

_KINDS = {
    "agrees within 2": "close",
    "agrees within 3": "near",
    "not judged": "unjudged",
    "missing": "missing",
}


def kind(agreement: Agreement) -> str:
    """Return the key of a verdict in `LOOKS`."""
    if agreement.verdict == "differs":
        return "differs" if agreement.reason is None else "explained"
    return _KINDS[agreement.verdict]


def note_letters(analysis: StudyAnalysis) -> dict[str, str]:
    """Return the letter (a, b, …) of the note on each reason."""
    return dict(zip(analysis.reasons, _letters(), strict=False))


def _letters() -> Iterator[str]:
    yield from ascii_lowercase
    yield from (a + b for a in ascii_lowercase for b in ascii_lowercase)


def sign(agreement: Agreement, letters: Mapping[str, str]) -> str:
    """Return the sign of a verdict, or the letter of its note if there is one."""
    name = kind(agreement)
    if name == "explained" and agreement.reason is not None:
        return letters[agreement.reason]
    return LOOKS[name].sign


def badge(agreement: Agreement, letters: Mapping[str, str]) -> Html:
    """Return the sign of a verdict as an HTML element with its style."""
    look = LOOKS[kind(agreement)]
    return tag("span", sign(agreement, letters), class_=f"sign {look.style}")
