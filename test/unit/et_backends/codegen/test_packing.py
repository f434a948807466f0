"""Packed constants: made once for all that read them in one form, and not kept in memory."""

from __future__ import annotations

import gc
import hashlib
import tracemalloc

import numpy as np
import torch

from et_backends.codegen.kernels.packing import as_is, packed_blob
from et_ir.data.tensors import blob_of_tensor


def test_large_constants_are_shared_and_not_kept() -> None:
    source = np.arange(1 << 20, dtype=np.float32)
    tracemalloc.start()
    made = packed_blob("turned", [source], np.flip)
    held, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most > source.nbytes > 100 * held
    assert packed_blob("turned", [source], np.flip) is made
    assert made.sha256 == hashlib.sha256(source[::-1].tobytes()).hexdigest()
    assert bytes(made.view()) == source[::-1].tobytes()


def test_forms_and_places_differ() -> None:
    source = np.arange(1 << 20, dtype=np.float32)
    made = packed_blob("turned", [source], np.flip)
    assert packed_blob("elements", [source], as_is) is not made
    assert packed_blob("turned", [source[1:]], np.flip) is not made
    assert packed_blob("turned", [source.reshape(2, -1)], np.flip) is not made


def test_sources_live_as_long_as_what_is_made_of_them() -> None:
    """An array at the address of another, which is gone, has other content."""
    made = packed_blob("turned", [np.full(1 << 20, 1.0, np.float32)], np.flip)
    for number in range(8):
        gc.collect()
        other = packed_blob("turned", [np.full(1 << 20, 2.0 + number, np.float32)], np.flip)
        assert bytes(other.view()[:4]) == np.float32(2.0 + number).tobytes()
    assert bytes(made.view()[:4]) == np.float32(1).tobytes()


def test_weights_that_are_changed_in_place() -> None:
    """Those of a program that is exported after a step of training have the name of their own bytes."""
    weights = torch.zeros(1 << 16)
    old = blob_of_tensor("weights", weights)
    made = packed_blob("turned", [np.frombuffer(old.view(), np.float32)], np.flip)
    assert packed_blob("turned", [np.frombuffer(old.view(), np.float32)], np.flip) is made
    weights += 1
    new = blob_of_tensor("weights", weights)
    other = packed_blob("turned", [np.frombuffer(new.view(), np.float32)], np.flip)
    assert other.sha256 == hashlib.sha256(other.view()).hexdigest() != made.sha256


def test_small_constants_are_not_shared() -> None:
    """They do not hold their sources, at whose addresses there may be others."""
    source = np.arange(4, dtype=np.float32)
    assert packed_blob("turned", [source], np.flip) is not packed_blob("turned", [source], np.flip)
