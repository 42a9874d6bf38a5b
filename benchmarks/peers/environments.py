"""The interpreter and virtual environment of each library."""

import subprocess
import sys
import venv
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from peers.peers import PEERS


class MissingLibraryError(Exception):
    """A library is not installed; the message says how to install it."""


def interpreter(
    name: str,
    folder: Path | None,
    install: bool = False,
    say: Callable[[str], object] = lambda message: None,
) -> str:
    """Return the interpreter that runs a library.

    Parameters
    ----------
    name
        One of `PEERS`. rpnb itself always runs in this interpreter.
    folder
        Holds a virtual environment by the name of each library. Without it, the
        library must be importable here.
    install
        Whether to create the environment and install the newest packages.
    say
        Called with a line about the installation.
    """
    peer = PEERS[name]
    if name == "rpnb":
        return sys.executable
    if folder is None:
        if not is_here(name):
            raise MissingLibraryError(
                f"{peer.label} is not installed here: pip install "
                f"{' '.join(peer.packages)}, or name a folder of environments"
            )
        return sys.executable
    path = folder / name
    if install:
        say(f"installing {', '.join(peer.packages)} in {path}")
        _install(path, peer.packages)
    python = _python(path)
    if not python.exists():
        raise MissingLibraryError(
            f"there is no environment for {peer.label} at {path}: install it there, "
            "or have it installed"
        )
    return str(python)


def is_here(name: str) -> bool:
    """Return whether a library is installed for this interpreter."""
    return find_spec(PEERS[name].module) is not None


def _install(path: Path, packages: tuple[str, ...]) -> None:
    python = _python(path)
    if not python.exists():
        venv.create(path, with_pip=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--upgrade", *packages]
    done = subprocess.run(  # noqa: S603  an interpreter that we made
        command, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise MissingLibraryError(f"pip install {' '.join(packages)}: {last[0]}")


def _python(path: Path) -> Path:
    windows = sys.platform == "win32"
    return path / ("Scripts/python.exe" if windows else "bin/python")
