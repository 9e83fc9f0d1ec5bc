"""Other people's models: watched as ours are, and traced, so that every view of a trace serves them too."""
