"""The digits network in a web page: one file, which a browser opens from disk."""
