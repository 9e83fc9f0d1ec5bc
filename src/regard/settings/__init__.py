"""What a model is made of and how it answers, as values that need no torch: a slip is told at once."""
