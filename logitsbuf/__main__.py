"""``python -m logitsbuf``."""

import sys

from logitsbuf.cli import main

if __name__ == "__main__":
    sys.exit(main())
