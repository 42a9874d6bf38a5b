"""Run Python where an extra of this package is installed, which this one lacks.

The environment sees the packages of this one, so that only the extra and what it needs
besides is installed, once. Without Java or a registry there is nothing to run.

    python tools/extra_environment.py spark .venv/spark -m pytest tests/spark
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path

import rpnb

ROOT = Path(__file__).resolve().parents[1]
NEEDS_JAVA = ("spark",)
OUT_OF_REACH = ("No matching distribution", "Connection", "Max retries", "resolution")


def wanted(extra: str) -> list[str]:
    """Return the requirements of an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    requirements: list[str] = project["project"]["optional-dependencies"][extra]
    return requirements


def make(folder: Path, requirements: Sequence[str]) -> str | None:
    """Make the environment unless it is there; return why it cannot be made, if so."""
    stamp = folder / "installed.txt"
    if stamp.exists() and stamp.read_text() == "\n".join(requirements):
        return None
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    own = subprocess.run(  # noqa: S603 - the interpreter just made
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    beside = Path(own.stdout.strip()) / "beside.pth"
    beside.write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    install = subprocess.run(  # noqa: S603 - the project's own requirements
        [*pip, *requirements], capture_output=True, text=True, check=False
    )
    if install.returncode:
        if any(sign in install.stderr for sign in OUT_OF_REACH):
            return f"no registry is in reach to install {', '.join(requirements)} from"
        raise SystemExit(install.stderr)
    stamp.write_text("\n".join(requirements))
    return None


def main(arguments: Sequence[str]) -> int:
    """Make the environment of an extra and run Python in it."""
    extra, folder, *words = arguments
    has_java = shutil.which("java") is not None or "JAVA_HOME" in os.environ
    if extra in NEEDS_JAVA and not has_java:
        print(f"skipped: {extra} needs Java, which is not here")
        return 0
    home = Path(folder).absolute()
    reason = make(home, wanted(extra))
    if reason is not None:
        print(f"skipped: {reason}")
        return 0
    python = str(home / "bin" / "python")
    source = str(Path(rpnb.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "PYSPARK_PYTHON": python}
    done = subprocess.run(  # noqa: S603 - what the user asked for
        [python, *words], cwd=ROOT, env=environment, check=False
    )
    return done.returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
