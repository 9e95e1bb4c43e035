"""`python -m structguard`."""

import sys

from structguard.cli import main

if __name__ == "__main__":
    sys.exit(main())
