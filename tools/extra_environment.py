"""Run Python in another environment, in which an extra of this package is installed.

That environment also sees the packages of the current one, so that only the extra and
its missing dependencies are installed, once. Without a package registry, or Java if the
extra needs it, nothing runs.

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
    """Create the environment if it is missing; return why that is impossible, if so."""
    stamp = folder / "installed.txt"
    if stamp.exists() and stamp.read_text() == "\n".join(requirements):
        return None
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    own = subprocess.run(  # noqa: S603 - the new interpreter
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
            return f"no registry is reachable to install {', '.join(requirements)} from"
        raise SystemExit(install.stderr)
    stamp.write_text("\n".join(requirements))
    return None


def main(arguments: Sequence[str]) -> int:
    """Create the environment of an extra and run Python in it."""
    extra, folder, *words = arguments
    has_java = shutil.which("java") is not None or "JAVA_HOME" in os.environ
    if extra in NEEDS_JAVA and not has_java:
        print(f"skipped: {extra} needs Java, which is not installed")
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
