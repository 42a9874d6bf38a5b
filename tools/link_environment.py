"""Make the packages of this environment visible in another one.

Run: python tools/link_environment.py FOLDER, where FOLDER is the other environment.
"""

import subprocess
import sys
import sysconfig
from pathlib import Path


def main() -> int:
    """Write a .pth file into the other environment."""
    interpreter = Path(sys.argv[1]).absolute() / "bin" / "python"
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    other = subprocess.run(  # noqa: S603 - a fixed command
        [interpreter, "-c", code], capture_output=True, text=True, check=True
    )
    own = sysconfig.get_path("purelib")
    beside = Path(other.stdout.strip()) / "beside.pth"
    # Only the path: the .pth files in it, such as that of this package, are not read.
    beside.write_text(f"{own}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
