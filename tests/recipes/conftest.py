"""Recipes are scripts: their folders are where Python looks for what they import."""

import sys

from tests.house.tree import ROOT

for folder in ("recipes", "recipes/box"):
    if str(ROOT / folder) not in sys.path:
        sys.path.append(str(ROOT / folder))
