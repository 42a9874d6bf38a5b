"""Versions of the documentation site."""

import json
from pathlib import Path

import pytest

from publish_site import publish


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    path = tmp_path / "pages"
    path.mkdir()
    return path


def site(pages: Path, text: str) -> Path:
    """Create a site with one page."""
    path = pages.parent / "site"
    path.mkdir(exist_ok=True)
    (path / "index.html").write_text(text)
    return path


def text_of(pages: Path, version: str) -> str:
    return (pages / version / "index.html").read_text()


def menu(pages: Path) -> list[tuple[str, list[str]]]:
    entries = json.loads((pages / "versions.json").read_text())
    return [(entry["version"], entry["aliases"]) for entry in entries]


def test_before_the_first_release_the_start_page_leads_to_dev(pages: Path) -> None:
    publish(site(pages, "main"), pages, "dev")
    assert text_of(pages, "dev") == "main"
    assert "url=dev/" in (pages / "index.html").read_text()
    assert menu(pages) == [("dev", [])]
    assert not (pages / "stable").exists()


def test_stable_is_the_newest_release(pages: Path) -> None:
    for version in ("dev", "0.9.0", "0.10.0", "0.9.1"):
        publish(site(pages, version), pages, version)
    assert text_of(pages, "stable") == "0.10.0"
    assert text_of(pages, "0.9.1") == "0.9.1"
    assert "url=stable/" in (pages / "index.html").read_text()
    assert menu(pages) == [
        ("0.10.0", ["stable"]),
        ("0.9.1", []),
        ("0.9.0", []),
        ("dev", []),
    ]


def test_pages_that_a_version_no_longer_has_go(pages: Path) -> None:
    old = site(pages, "old")
    (old / "gone.html").touch()
    publish(old, pages, "0.2.0")
    (old / "gone.html").unlink()
    publish(site(pages, "new"), pages, "0.2.0")
    for folder in ("0.2.0", "stable"):
        assert text_of(pages, folder) == "new"
        assert not (pages / folder / "gone.html").exists()


@pytest.mark.parametrize("version", ["", "v0.2.0", "0.2", "../other", "stable"])
def test_other_names_are_refused(pages: Path, version: str) -> None:
    with pytest.raises(ValueError, match="version must be"):
        publish(site(pages, "main"), pages, version)
    assert list(pages.iterdir()) == []


def test_a_site_that_was_not_built_is_refused(pages: Path) -> None:
    with pytest.raises(FileNotFoundError, match="make docs"):
        publish(pages.parent / "site", pages, "dev")
    assert list(pages.iterdir()) == []
