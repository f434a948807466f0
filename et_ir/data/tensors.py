"""Blobs over torch tensors: the bytes stay where torch has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from et_ir.data.blob import Blob

if TYPE_CHECKING:
    import torch

__all__ = ["blob_of_tensor"]


def _bytes_of(tensor: torch.Tensor) -> memoryview:
    """The bytes of a contiguous tensor in host memory, as a view that keeps the tensor's storage alive."""
    import torch

    flat: Any = tensor.detach().reshape(-1)
    return memoryview(flat.view(torch.uint8).numpy())


def blob_of_tensor(key: str, tensor: torch.Tensor) -> Blob:
    """The bytes of a tensor in contiguous order of its logical dimensions.

    A contiguous tensor in host memory is not copied: the blob is a view of its storage, which it keeps alive;
    changing the tensor afterwards changes the program. Any other one is made contiguous each time its bytes
    are asked for.
    """
    nbytes = tensor.numel() * tensor.element_size()
    if nbytes == 0:
        return Blob.of(key, b"")
    if tensor.device.type == "cpu" and tensor.is_contiguous() and not (tensor.is_conj() or tensor.is_neg()):
        return Blob.of(key, _bytes_of(tensor))

    def compute() -> memoryview:
        return _bytes_of(tensor.detach().cpu().resolve_conj().resolve_neg().contiguous())

    return Blob.derived(key, nbytes, compute)
