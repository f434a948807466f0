"""The sources of the runtime in C."""
