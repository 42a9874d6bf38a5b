"""Check that a release is consistent, and print its notes.

python tools/release.py check           # all files name the same version
python tools/release.py check v0.2.0    # and it is this one, with a date
python tools/release.py notes           # the changelog of the newest version
"""

import argparse
import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
#: Files that contain the version, and patterns to find it.
PLACES = {
    "src/rpnb/_version.py": r'^__version__ = "(.+)"$',
    "CITATION.cff": r"^version: (.+)$",
    "recipe/recipe.yaml": r'^  version: "(.+)"$',
}
_HEADING = re.compile(r"^## (\S+) \((.+)\)$", re.MULTILINE)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class Section(NamedTuple):
    """The newest section of the changelog."""

    version: str
    date: str
    """day of the release, or "unreleased" """
    text: str


def newest_section(changelog: str) -> Section:
    """Return the first section of a changelog."""
    headings = list(_HEADING.finditer(changelog))
    if not headings:
        raise ValueError("CHANGELOG.md has no heading like '## 0.2.0 (2026-01-31)'")
    end = headings[1].start() if len(headings) > 1 else len(changelog)
    text = changelog[headings[0].end() : end].strip()
    return Section(headings[0][1], headings[0][2], text)


def named_versions(root: Path) -> dict[str, str]:
    """Return the version in each file, "" if a file has none."""
    named = {}
    for name, pattern in PLACES.items():
        text = (root / name).read_text(encoding="utf-8")
        found = re.search(pattern, text, re.MULTILINE)
        named[name] = found[1] if found else ""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    return named | {"CHANGELOG.md": newest_section(text).version}


def problems(root: Path, tag: str | None = None) -> list[str]:
    """Return the problems that prevent a release, under a tag if one is given."""
    named = named_versions(root)
    version = named["src/rpnb/_version.py"]
    found = [
        f"{name} names version {other!r}, src/rpnb/_version.py {version!r}"
        for name, other in named.items()
        if other != version
    ]
    if tag is not None:
        if tag != f"v{version}":
            found.append(f"the tag is {tag!r}, the version {version!r}")
        section = newest_section((root / "CHANGELOG.md").read_text(encoding="utf-8"))
        if not _DATE.fullmatch(section.date):
            found.append(f"CHANGELOG.md gives {section.date!r} instead of a date")
    return found


def main() -> int:
    """Run a command; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="compare the versions that files name")
    check.add_argument("tag", nargs="?", help="tag of the release, such as v0.2.0")
    commands.add_parser("notes", help="print the newest section of the changelog")
    arguments = parser.parse_args()
    if arguments.command == "notes":
        text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        print(newest_section(text).text)
        return 0
    found = problems(ROOT, arguments.tag)
    for problem in found:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
