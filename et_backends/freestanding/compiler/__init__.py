"""Ahead-of-time compilation of whole programs to objects without a runtime.

A program becomes one relocatable object and a C header: no interpreter, no heap, no library, no thread. The code is
that of the native backend's kernels, for processors down to microcontrollers.
"""
