"""Asking a loaded model: questions in, answers out, long text, streams, looking."""
