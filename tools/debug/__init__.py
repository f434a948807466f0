"""Command line of the debugger: commands, their arguments, and the display of values."""
