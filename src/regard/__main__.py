"""`python -m regard` is `regard`."""

from __future__ import annotations

import sys


def main() -> None:
    """The command line; stopped while it is still being loaded, it says no more than it does later."""
    try:
        from regard.cli.main import run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
