"""Fixtures, checkers and plug-ins that tests of several folders share."""
