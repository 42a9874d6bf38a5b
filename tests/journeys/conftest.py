"""Fixtures of journeys: the installed wheel, and its commands in an empty folder."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from journeys.steps import TIMEOUT, Python, Run, variables

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel: its folder of programs."""
    installed = os.environ.get("RPNB_PROGRAMS")
    if installed:
        return Path(installed)
    folder = tmp_path_factory.mktemp("environment")
    wheel = os.environ.get("RPNB_WHEEL")
    if not wheel:
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
        # The objects of `make` are those of a wheel.
        command += ["--no-build-isolation", "--config-settings=build-dir=build/make"]
        subprocess.run(  # noqa: S603 - our own words
            [*command, "--wheel-dir", str(folder), str(ROOT)], check=True, cwd=ROOT
        )
        (built,) = folder.glob("*.whl")
        wheel = str(built)
    venv.create(folder / "venv", symlinks=True)
    programs = folder / "venv" / "bin"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "venv" / "lib" / version / "site-packages"
    install = [sys.executable, "-m", "pip", "--python", str(programs / "python")]
    subprocess.run(  # noqa: S603
        [*install, "install", "--quiet", "--no-deps", "--no-index", wheel], check=True
    )
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return programs


@pytest.fixture
def rpnb(environment: Path, tmp_path: Path) -> Run:
    """Run the command in an empty folder."""

    def run(
        *words: object, code: int = 0, **more: str
    ) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(  # noqa: S603
            [environment / "rpnb", *map(str, words)],
            cwd=tmp_path,
            env=variables(**more),
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT,
        )
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        if code == 2 and "problems:" not in done.stderr:
            assert done.stderr.count("\n") == 1, done.stderr
        return done

    return run


@pytest.fixture
def python(environment: Path, tmp_path: Path) -> Python:
    """Run a program of Python in the folder, and return what it prints."""

    def run(code: str) -> str:
        done = subprocess.run(  # noqa: S603
            [environment / "python", "-c", code],
            cwd=tmp_path,
            env=variables(),
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
