"""Where settings were resolved before; they are in `regard.run.resolve` now."""

from regard.run.resolve import resolve as resolve
