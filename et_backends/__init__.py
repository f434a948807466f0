"""Backends of this project: a package each, whose `PACKAGE` says what it consists of."""
