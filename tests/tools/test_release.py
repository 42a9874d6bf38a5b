"""Checks before a release."""

from pathlib import Path

import pytest

from release import PLACES, ROOT, newest_section, problems

CHANGELOG = """# Changelog

## 0.3.0 ({date})

Better.

### Fixed

- A fault.

## 0.2.0 (2026-01-31)

First.
"""
FILES = {
    "src/rpnb/_version.py": '__version__ = "0.3.0"\n',
    "CITATION.cff": "cff-version: 1.2.0\nversion: 0.3.0\n",
    "recipe/recipe.yaml": 'context:\n  version: "0.3.0"\n',
    "CHANGELOG.md": CHANGELOG.format(date="2026-03-01"),
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_this_tree_names_one_version() -> None:
    assert problems(ROOT) == []


def test_a_consistent_tree_can_be_released(tree: Path) -> None:
    assert problems(tree, "v0.3.0") == []


@pytest.mark.parametrize("name", FILES)
def test_another_version_in_any_file_is_found(tree: Path, name: str) -> None:
    path = tree / name
    path.write_text(path.read_text().replace("0.3.0", "0.4.0"))
    found = problems(tree)
    assert len(found) == (1 if name != "src/rpnb/_version.py" else len(PLACES))
    assert all("'0.4.0'" in problem for problem in found)


def test_the_tag_must_be_that_of_the_version(tree: Path) -> None:
    assert problems(tree, "v0.2.0") == ["the tag is 'v0.2.0', the version '0.3.0'"]


def test_a_release_needs_a_date(tree: Path) -> None:
    (tree / "CHANGELOG.md").write_text(CHANGELOG.format(date="unreleased"))
    assert problems(tree) == []
    (problem,) = problems(tree, "v0.3.0")
    assert "'unreleased' instead of a date" in problem


def test_notes_are_the_newest_section_without_its_heading() -> None:
    section = newest_section(CHANGELOG.format(date="2026-03-01"))
    assert section.text == "Better.\n\n### Fixed\n\n- A fault."
    with pytest.raises(ValueError, match="no heading"):
        newest_section("# Changelog\n")
