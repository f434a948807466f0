"""Blobs over torch tensors."""

import gc

import pytest
import torch

from et_ir.data.tensors import blob_of_tensor


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.bool, torch.uint8]
)
def test_contiguous_tensors_are_not_copied(dtype: torch.dtype):
    tensor = torch.ones(3, 5, dtype=dtype)
    blob = blob_of_tensor("w", tensor)
    before = bytes(blob.view())
    assert len(before) == blob.nbytes == tensor.numel() * tensor.element_size()
    tensor.zero_()
    assert bytes(blob.view()) == bytes(blob.nbytes) != before


def test_the_storage_stays_alive():
    blob = blob_of_tensor("w", torch.arange(1000))
    gc.collect()
    assert bytes(blob.view()[-8:]) == (999).to_bytes(8, "little")


def test_parts_of_a_storage():
    blob = blob_of_tensor("w", torch.arange(10, dtype=torch.uint8)[3:5])
    assert bytes(blob.view()) == b"\3\4"


def test_scalars_and_empty_tensors():
    assert bytes(blob_of_tensor("w", torch.tensor(2, dtype=torch.int8)).view()) == b"\2"
    assert bytes(blob_of_tensor("w", torch.empty(0, 3)).view()) == b""


def test_trained_parameters():
    blob = blob_of_tensor("w", torch.nn.Parameter(torch.zeros(4)))
    assert bytes(blob.view()) == bytes(16)


def test_other_layouts_become_contiguous():
    tensor = torch.arange(6, dtype=torch.uint8).reshape(2, 3).T
    assert bytes(blob_of_tensor("w", tensor).view()) == bytes([0, 3, 1, 4, 2, 5])
    image = torch.randn(1, 2, 3, 3).to(memory_format=torch.channels_last)
    assert bytes(blob_of_tensor("w", image).view()) == image.contiguous().numpy().tobytes()


def test_lazily_negated_tensors():
    tensor = torch._neg_view(torch.tensor([1, 2], dtype=torch.int8))
    assert bytes(blob_of_tensor("w", tensor).view()) == b"\xff\xfe"
