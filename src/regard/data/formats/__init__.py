"""One file a family of formats: each is a frozen value that knows its paths and reads them as rows."""
