"""Build the documentation site into site/, strictly. Run: python tools/build_site.py.

Zensical's strict mode fails on broken links, anchors and references. This tool also
fails on warnings about docstrings (such as a documented parameter that does not exist),
and on pages that load a script, a style, a font or an image from another host.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "site"
_DOCSTRING_WARNING = re.compile(r"^(griffe|mkdocs\w*)\b.*$", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
#: Resources that a browser loads by itself, unlike links.
_LOADED = re.compile(
    r"<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc=[\"']?((?:https?:)?//[^\"'\s>]+)"
    r"|<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|preconnect|preload|icon))"
    r"[^>]*\bhref=[\"']?((?:https?:)?//[^\"'\s>]+)"
    r"|(?:@import|url\()\s*[\"']?((?:https?:)?//[^\"')\s]+)",
    re.IGNORECASE,
)


def main() -> int:
    """Build, check, and return the exit code."""
    shutil.rmtree(SITE, ignore_errors=True)
    zensical = Path(sys.executable).parent / "zensical"
    done = subprocess.run(  # noqa: S603 - a fixed command
        [zensical, "build", "--strict", "--clean"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tools")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    output = _COLOUR.sub("", done.stdout)
    sys.stdout.write(output)
    if done.returncode:
        return done.returncode
    problems = [each[0] for each in _DOCSTRING_WARNING.finditer(output)]
    problems += loaded_from_elsewhere(SITE)
    for problem in problems:
        sys.stderr.write(f"error: {problem}\n")
    return 1 if problems else 0


def loaded_from_elsewhere(site: Path) -> list[str]:
    """Return the resources that pages and styles load from other hosts."""
    found = []
    for path in sorted([*site.rglob("*.html"), *site.rglob("*.css")]):
        for match in _LOADED.finditer(path.read_text(encoding="utf-8")):
            address = next(filter(None, match.groups()))
            found.append(f"{path.relative_to(site)} loads {address}")
    return found


if __name__ == "__main__":
    sys.exit(main())
