"""Plausible mistakes of new users, each with its message and the next try that the message leads to."""
