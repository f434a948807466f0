"""A register VM that runs ExecuTorch programs on numpy."""
