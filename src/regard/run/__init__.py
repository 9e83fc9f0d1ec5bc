"""A run folder: settings, weights, training state and metrics, safe to kill at any moment."""
