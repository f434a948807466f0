"""Images: tensors with channels before one to three spatial dimensions, and their order in memory.

Kernels of images keep channels innermost, whatever the number of spatial dimensions, with or without a batch.
"""

from __future__ import annotations

import re
from math import prod

from xdsl.ir import SSAValue

from et_backends.codegen.kernels.pointwise_rules import operator_name
from et_ir.analysis.dim_orders import Order, in_order, straight
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["channel_dim", "channels_innermost", "image_sizes", "spatial_rank"]


def spatial_rank(op: SchemaOp) -> int:
    """The number of dimensions after the channels of the image that an op reads, as its name says."""
    name = operator_name(op)
    if name == "convolution":
        return tensor_type(op.arg("weight")).get_num_dims() - 2
    if name == "index.Tensor":
        return sum(one is not None for one in op.arg("indices"))
    if name == "channel_shuffle":
        return tensor_type(op.results[0]).get_num_dims() - 2
    if name in ("pixel_shuffle", "pixel_unshuffle"):
        return 2
    found = re.search(r"(\d)d", name)
    if found is None:
        raise ValueError(f"no operator of images: {name}")
    return int(found[1])


def channel_dim(op: SchemaOp) -> int:
    """The dimension of an image that is innermost in memory: 1, or 0 where there is no batch."""
    return tensor_type(op.results[0]).get_num_dims() - spatial_rank(op) - 1


def channels_innermost(rank: int, channel: int) -> Order:
    """The order of an image whose channels are a dimension."""
    return (*(dim for dim in straight(rank) if dim != channel), channel)


def image_sizes(op: SchemaOp, value: SSAValue) -> list[int]:
    """The sizes of the image that an op reads or makes, in memory: the batch, spatial sizes, channels."""
    shape = tensor_type(value).get_shape()
    sizes = in_order(shape, channels_innermost(len(shape), channel_dim(op)))
    spatial = spatial_rank(op)
    return [prod(sizes[: -spatial - 1]), *sizes[-spatial - 1 :]]
