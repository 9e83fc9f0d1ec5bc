"""What the inside of a model means: the trace of one answer, words, rollout, and the file that keeps them."""
