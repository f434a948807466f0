"""XNNPACK's graphs on our own kernels: what a program leaves to the backend `XnnpackBackend` runs without any C++."""

from et_backends.xnnpack.runtime.backend import XnnpackBackend

__all__ = ["XnnpackBackend"]
