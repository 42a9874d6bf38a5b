"""`python -m rpnb`: the command line."""

import sys

from rpnb.cli import main

if __name__ == "__main__":
    sys.exit(main())
