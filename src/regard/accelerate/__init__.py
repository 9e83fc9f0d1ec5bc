"""Only speed: forms of what the rooms before define by their formulas, equal to them by law."""
