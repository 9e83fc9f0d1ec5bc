"""A whole stack of plain Transformer blocks at once."""
