"""Add a built documentation site to the folder of all versions.

    python tools/publish_site.py site pages 0.2.0

`pages` is a checkout of the branch that is served, with a folder for each version.
`stable` is a copy of the newest release; the start page redirects to it, or to `dev` as
long as there is no release. The menu of versions reads `versions.json`, in the format
of mike.
"""

import argparse
import json
import re
import shutil
from pathlib import Path

_RELEASE = re.compile(r"\d+\.\d+\.\d+")
#: The version of the main branch.
DEVELOPMENT = "dev"
STABLE = "stable"
_START = """<!doctype html>
<meta charset="utf-8">
<title>rpnb</title>
<meta http-equiv="refresh" content="0; url={target}/">
<a href="{target}/">Documentation of rpnb</a>
"""


def publish(site: Path, pages: Path, version: str) -> None:
    """Copy a site to `pages` as a version, replacing an older copy."""
    if version != DEVELOPMENT and not _RELEASE.fullmatch(version):
        raise ValueError(f"version must be 'dev' or like '0.2.0', got {version!r}")
    if not (site / "index.html").is_file():
        raise FileNotFoundError(f"{site} has no index.html: run `make docs` first")
    _replace(site, pages / version)
    releases = sorted(
        (path.name for path in pages.iterdir() if _RELEASE.fullmatch(path.name)),
        key=_numbers,
        reverse=True,
    )
    if releases and version == releases[0]:
        _replace(site, pages / STABLE)
    (pages / "versions.json").write_text(_menu(pages, releases), encoding="utf-8")
    target = STABLE if releases else DEVELOPMENT
    (pages / "index.html").write_text(_START.format(target=target), encoding="utf-8")
    # Otherwise folders that begin with an underscore would not be served.
    (pages / ".nojekyll").touch()


def _menu(pages: Path, releases: list[str]) -> str:
    """Return the menu of versions as JSON, newest release first."""
    entries = [
        {"version": name, "title": name, "aliases": [STABLE] if place == 0 else []}
        for place, name in enumerate(releases)
    ]
    if (pages / DEVELOPMENT).is_dir():
        entries.append({"version": DEVELOPMENT, "title": DEVELOPMENT, "aliases": []})
    return json.dumps(entries, indent=2) + "\n"


def _numbers(version: str) -> tuple[int, ...]:
    """Return a version as numbers, so that 0.10.0 sorts after 0.9.0."""
    return tuple(map(int, version.split(".")))


def _replace(source: Path, target: Path) -> None:
    """Copy a folder, replacing the target."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)


def main() -> None:
    """Publish the site that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("site", type=Path, help="the site that `make docs` built")
    parser.add_argument("pages", type=Path, help="a checkout of the served branch")
    parser.add_argument("version", help="'dev', or a release such as 0.2.0")
    arguments = parser.parse_args()
    publish(arguments.site, arguments.pages, arguments.version)


if __name__ == "__main__":
    main()
