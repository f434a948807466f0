"""The ahead-of-time compiler: dialects, frontend, passes and emission.

Importing this package imports neither torch nor xDSL; the public API of the compiler is loaded on first use.
"""
