"""Arguments that a delegate is bound to: recognised as long as they are what they were."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from et_schema.program import TensorShapeDynamism
from et_schema.scalar_type import ScalarType
from et_vm.backends.bound import BoundArguments
from et_vm.values import Tensor


def tensor() -> Tensor:
    return Tensor.from_numpy(
        np.ones(4, np.float32), ScalarType.FLOAT, dynamism=TensorShapeDynamism.DYNAMIC_BOUND
    )


@pytest.mark.parametrize("kind", [tuple, list])
def test_arguments_and_their_arrays(kind: type) -> None:
    x, y = tensor(), tensor()
    bound, args = BoundArguments(), kind([x, 3, y])
    assert not bound.match(args)
    bound.bind(args)
    assert bound.match(args)
    assert bound.match(kind([x, 3, y]))
    assert not bound.match(kind([x, 4, y]))
    assert not bound.match(kind([y, 3, x]))
    assert bound.match(args)
    y.resize((2,))
    assert not bound.match(args)
    bound.bind(args)
    assert bound.match(args)
    bound.release()
    assert not bound.match(args)


def test_a_list_whose_content_changes() -> None:
    bound, args = BoundArguments(), [tensor(), 3]
    bound.bind(args)
    assert bound.match(args)
    args[1] = 4
    assert not bound.match(args)


def test_tensors_of_others() -> None:
    """A tensor that is no argument gets another array, maybe in another thread; then an argument does."""
    x, other = tensor(), tensor()
    bound, args = BoundArguments(), (x,)
    bound.bind(args)
    for size in (1, 2):
        thread = threading.Thread(target=other.resize, args=((size,),))
        thread.start()
        thread.join()
        assert bound.match(args)
        assert bound.match(args)
    assert x.storage is not None
    x.bind(x.storage)
    assert not bound.match(args)


def test_a_tensor_without_data() -> None:
    x = tensor()
    bound, args = BoundArguments(), (x,)
    bound.bind(args)
    x.unbind()
    assert not bound.match(args)
