"""How verdicts look: a sign, a style and words; and the notes that explain them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase

from rpnb.report.html import Html, tag
from rpnb.study.agreement import Agreement


@dataclass(frozen=True, slots=True)
class VerdictStyle:
    """A verdict as a reader sees it."""

    style: str
    """class of the style sheet"""
    sign: str
    words: str


#: From agreement to disagreement, then what cannot be judged.
LOOKS: Mapping[str, VerdictStyle] = {
    "close": VerdictStyle("close", "✓", "agrees: at most 2 standard errors apart"),
    "near": VerdictStyle("near", "≈", "agrees: 2 to 3 standard errors apart"),
    "explained": VerdictStyle("explained", "a", "differs, for a known reason"),
    "differs": VerdictStyle("differs", "≠", "differs, for no known reason"),
    "unjudged": VerdictStyle("unjudged", "?", "not judged: no variance"),
    "missing": VerdictStyle("missing", "–", "missing: not run"),
}

_KINDS = {
    "agrees within 2": "close",
    "agrees within 3": "near",
    "not judged": "unjudged",
    "missing": "missing",
}


def kind(agreement: Agreement) -> str:
    """Return the name of a look: a difference is known to have a reason or not."""
    if agreement.verdict == "differs":
        return "differs" if agreement.reason is None else "explained"
    return _KINDS[agreement.verdict]


def notes(agreements: Sequence[Agreement]) -> dict[str, str]:
    """Return a letter for each reason, those behind differences first."""
    ordered = sorted(agreements, key=lambda each: each.verdict != "differs")
    reasons = dict.fromkeys(each.reason for each in ordered if each.reason)
    return dict(zip(reasons, _letters(), strict=False))


def _letters() -> Iterable[str]:
    yield from ascii_lowercase
    yield from (a + b for a in ascii_lowercase for b in ascii_lowercase)


def sign(agreement: Agreement, letters: Mapping[str, str]) -> str:
    """Return the sign of a verdict; the letter of its note if a reason is known."""
    name = kind(agreement)
    if name == "explained" and agreement.reason is not None:
        return letters[agreement.reason]
    return LOOKS[name].sign


def badge(agreement: Agreement, letters: Mapping[str, str]) -> Html:
    """Return the sign of a verdict on its ground."""
    look = LOOKS[kind(agreement)]
    return tag("span", sign(agreement, letters), class_=f"sign {look.style}")
