"""`python -m faults`: kills and full disks; exit code 1 if a file is lost or torn."""

import argparse
import secrets
import sys

import faults
from faults.full_disks import full
from faults.kills import kills
from faults.scenarios import MAKERS


def main() -> int:
    """Run the requested faults."""
    parser = argparse.ArgumentParser(prog="faults", description=faults.__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    killing = commands.add_parser("kills", help="kill processes while they write")
    killing.add_argument("count", type=int)
    killing.add_argument("--seed", type=int, help="default: a fresh one")
    killing.add_argument("--only", nargs="+", choices=tuple(MAKERS), default=None)
    filling = commands.add_parser("full", help="write to disks that are full")
    filling.add_argument("--steps", type=int, default=40)
    given = parser.parse_args()
    if given.command == "full":
        return full(given.steps)
    seed = secrets.randbelow(2**31) if given.seed is None else given.seed
    return kills(given.count, seed, given.only or list(MAKERS))


if __name__ == "__main__":
    sys.exit(main())
