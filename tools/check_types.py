"""Check types, beginning with what was found in another clone on this machine.

mypy looks at each source that is new, and at what depends on it; at all of them in a
fresh clone, which takes longer than all the rest of `make check`. What it has found is
kept by the contents of sources, and so is of use in another clone.
"""

import sys
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path
from subprocess import run

from shared_folder import copy_whole, shared_folder

ROOT = Path(__file__).resolve().parents[1]


def fetch(archive: Path, cache: Path) -> None:
    """Begin with what another clone has found, unless there is something here."""
    if not cache.exists() and archive.is_file():
        with (
            suppress(OSError, tarfile.TarError),
            tempfile.TemporaryDirectory(dir=cache.parent) as folder,
            tarfile.open(archive) as file,
        ):
            file.extractall(folder, filter="data")
            Path(folder, "found").rename(cache)


def keep(archive: Path, cache: Path) -> None:
    """Leave what was found to other clones."""
    with suppress(OSError), tempfile.TemporaryDirectory() as folder:
        packed = Path(folder, "mypy.tar")
        with tarfile.open(packed, "w") as file:
            file.add(cache, "found")
        archive.parent.mkdir(parents=True, exist_ok=True)
        copy_whole(packed, archive)


def main() -> int:
    """Run mypy; return its exit code."""
    shared, cache = shared_folder(), ROOT / ".mypy_cache"
    if shared is not None:
        fetch(shared / "mypy.tar", cache)
    mypy = [sys.executable, "-m", "mypy"]
    code = run(mypy, cwd=ROOT, check=False).returncode  # noqa: S603 - ours
    if shared is not None and cache.is_dir():
        keep(shared / "mypy.tar", cache)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
