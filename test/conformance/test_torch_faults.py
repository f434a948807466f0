"""Each entry of `sweep.torch_faults` is so: torch is far from the true values, and its float64 results are not."""

from __future__ import annotations

import mpmath
import pytest
import torch
from kernel_oracle import blank_like, register_of, run_kernel, tensor_of
from sweep.samples import DTYPES, samples
from sweep.torch_faults import TORCH_FAULTS, true_results

MATRIX_EXP_TYPES = [
    DTYPES[name] for fault in TORCH_FAULTS if fault.entry == "matrix_exp" for name in fault.types
]


def exponential(matrix: torch.Tensor) -> torch.Tensor:
    """The exponential of a matrix by 40 digits, in float64."""
    with mpmath.workdps(40):
        result = mpmath.expm(mpmath.matrix(matrix.double().tolist()), method="taylor")
        return torch.tensor([[float(value) for value in row] for row in result.tolist()], dtype=torch.float64)


@pytest.mark.parametrize("dtype", MATRIX_EXP_TYPES)
@pytest.mark.parametrize("norm", [0.1, 1.0, 4.0])
def test_the_exponential_of_a_matrix(dtype: torch.dtype, norm: float) -> None:
    """No result of torch's is near, of numbers that 16 bits can represent; those of the kernel are rounded once."""
    matrix = (torch.rand(3, 3, generator=torch.Generator().manual_seed(0)) * norm / 3).to(dtype)
    true = exponential(matrix)
    assert not torch.allclose(torch.matrix_exp(matrix).double(), true, rtol=0.5, atol=0.5)
    in_double = torch.matrix_exp(matrix.double())
    torch.testing.assert_close(in_double, true, rtol=1e-12, atol=1e-14)

    out = blank_like(matrix)
    run_kernel("portable", "aten::linalg_matrix_exp.out", (register_of(matrix),), [out])
    assert torch.equal(tensor_of(out), true.to(dtype))


@pytest.mark.parametrize("name", ["f16", "bf16", "f32"])
def test_what_is_expected_of_samples(name: str) -> None:
    """The true values, where torch's are wrong; torch's where they are not."""
    for sample in samples("matrix_exp", name, limit=1):
        (true,), (torch_s,) = true_results(sample), sample.results
        assert (true.dtype, true.shape) == (torch_s.dtype, torch_s.shape)
        if name == "f32":
            assert true is torch_s
        else:
            assert torch_s.isnan().any()
            wanted = torch.stack([exponential(matrix) for matrix in sample.inputs[0].reshape(-1, 5, 5)])
            torch.testing.assert_close(true, wanted.reshape(true.shape).to(true.dtype), rtol=0, atol=0)
