"""What the documentation points to is there: pages, headings, scripts, options."""

import re
import shlex
from pathlib import Path

import pytest

from peers.__main__ import _parser as peers_parser
from rpnb.cli import _parser

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")], key=lambda page: str(page)
)
LINK = re.compile(r"\]\(([^)\s]+)\)")
SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.*)$", page.read_text(), re.MULTILINE)
    bare = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.replace(" ", "-") for heading in bare}


def commands(page: Path) -> list[list[str]]:
    """The words of each command in the page's blocks for a shell."""
    blocks = SHELL.findall(page.read_text())
    lines = "\n".join(blocks).replace("\\\n", "").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def test_there_are_pages_links_and_commands() -> None:
    assert {"README.md", "docs/quickstart.md"} <= set(map(name_of, PAGES))
    assert "docs/run.md" in LINK.findall((ROOT / "README.md").read_text())
    assert ["rpnb", "run", "rows.csv", "--target", "label"] in commands(
        ROOT / "README.md"
    )


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text()):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_are_understood(page: Path) -> None:
    targets = (ROOT / "Makefile").read_text()
    for words in commands(page):
        if words[0] == "rpnb":
            _parser().parse_args(words[1:])
        elif words[0] == "make":
            assert f"\n{words[1]}:" in targets, words
        elif words[:3] == ["python", "-m", "peers"]:
            peers_parser().parse_args(words[3:])
        elif words[0].endswith("python") and words[1].endswith(".py"):
            assert (ROOT / words[1]).exists(), words


def test_every_page_is_reached_from_the_readme() -> None:
    reached, ahead = set(), [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    while ahead:
        page = ahead.pop().resolve()
        if page in reached:
            continue
        reached.add(page)
        links = [link.partition("#")[0] for link in LINK.findall(page.read_text())]
        ahead += [page.parent / link for link in links if link.endswith(".md")]
    docs = {page for page in PAGES if page.is_relative_to(ROOT / "docs")}
    assert sorted(map(name_of, docs - reached)) == []
