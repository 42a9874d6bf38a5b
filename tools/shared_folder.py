"""Where clones of the repository on one machine share what is costly to make.

It is ``rpnb-tests`` in the user's cache, or what ``RPNB_SHARED`` names; where that is
empty, nothing is shared. It may be removed at any time.
"""

import os
import shutil
from pathlib import Path


def shared_folder() -> Path | None:
    """Return the folder, which need not be there; None if nothing is to be shared."""
    chosen = os.environ.get("RPNB_SHARED")
    if chosen is not None:
        return Path(chosen).absolute() if chosen else None
    user = os.environ.get("XDG_CACHE_HOME")
    return (Path(user) if user else Path.home() / ".cache") / "rpnb-tests"


def copy_whole(source: Path, target: Path) -> None:
    """Copy a file so that whoever reads the target finds all of it, or none."""
    partial = target.with_name(f"{target.name}.{os.getpid()}")
    try:
        shutil.copyfile(source, partial)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
