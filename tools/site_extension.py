"""Markdown extension of the documentation site, used by mkdocs.yml.

- Formulas between dollar signs, `$x$` in a line or `$$x$$` as a paragraph, become
  MathML when the site is built: browsers show it without scripts or fonts.
- A line `<!-- include: FILE -->` is replaced by a file of the repository, with its
  links into `docs/` adjusted.
- A code block of the language `argparse` names a command (`rpnb run`) and becomes a
  table of its arguments, taken from its parser.
"""

import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.preprocessors import Preprocessor

from argparse_html import command_reference, find_command

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

_INCLUDE = re.compile(r"<!-- include: (\S+) -->")
#: Before escapes (180), so that a formula keeps its backslashes; after code (190).
_PRIORITY = 185.0


def to_mathml(formula: str, display: str) -> str:
    """Return a formula in LaTeX as MathML; `display` is "inline" or "block"."""
    from latex2mathml.converter import convert

    mathml: str = convert(formula, display=display)
    ElementTree.fromstring(mathml)  # noqa: S314 - our own formula; fails if malformed
    # An unknown command would appear as text.
    if "\\" in mathml:
        raise ValueError(f"LaTeX without a MathML equivalent: {formula}")
    return mathml


class _Formula(InlineProcessor):
    """A formula between dollar signs."""

    def __init__(self, pattern: str, md: Markdown, display: str) -> None:
        super().__init__(pattern, md)
        self.display = display

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:
        mathml = to_mathml(m[1].strip(), self.display)
        return self.md.htmlStash.store(mathml), m.start(0), m.end(0)


class _Include(Preprocessor):
    """Includes files of the repository as pages of the site."""

    def run(self, lines: list[str]) -> list[str]:
        out: list[str] = []
        for line in lines:
            found = _INCLUDE.fullmatch(line.strip())
            out += included(found[1]) if found else [line]
        return out


def included(name: str) -> list[str]:
    """Return the lines of a file of the repository, with links as seen from docs/."""
    text = (ROOT / name).read_text(encoding="utf-8")
    text = re.sub(r"\]\(docs/", "](", text)
    return text.splitlines()


class SiteExtension(Extension):
    """Formulas and included files."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Register the processors."""
        block = _Formula(r"\$\$(.+?)\$\$", md, "block")
        inline = _Formula(r"\$(?!\s)([^$]+?)(?<!\s)\$(?!\d)", md, "inline")
        md.inlinePatterns.register(block, "math-block", _PRIORITY + 1)
        md.inlinePatterns.register(inline, "math-inline", _PRIORITY)
        md.preprocessors.register(_Include(md), "include", 40)


def makeExtension(**options: Any) -> SiteExtension:
    """Return the extension; Markdown calls this function."""
    return SiteExtension(**options)


def argparse_fence(source: str, *_: Any, **__: Any) -> str:
    """Return the reference of a command as HTML, for `argparse` blocks."""
    from rpnb.cli import _parser

    return command_reference(find_command(_parser(), source))
