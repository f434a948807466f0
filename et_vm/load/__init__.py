"""Loading: the bytes of a program, its opcodes and decoded instructions."""
