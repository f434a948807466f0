"""Torch's samples of operators with a size that is known at run time only: one file, run for two sizes or more.

What torch exports with a dynamic size compiles for et-vm, but for what `REFUSED` lists with the reason.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from sweep.compare import difference
from sweep.samples import entries, samples
from sweep.sizes import DynamicSample, dynamic_samples

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.diagnostics import PassReport
from et_ir.frontend.unsupported import UnsupportedProgram
from et_schema.errors import InputError
from et_vm.runtime import Runtime

SAMPLES = 2
"""Samples of an entry, at most."""

REFUSED = {
    **dict.fromkeys(
        ("as_strided", "as_strided-partial_views"), "they address memory that there is for some sizes only"
    ),
    **dict.fromkeys(
        ("nn.functional.dropout3d", "nn.functional.feature_alpha_dropout-with_train"),
        "an arena of five dimensions of the largest size is too large",
    ),
}
"""Entries that are refused with a dynamic size, with the reason."""


def refusal(given: DynamicSample) -> str | None:
    """Why the program is refused; None if it is not, and computes what torch does."""
    try:
        file = to_edge(given.program).to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    except (PassReport, UnsupportedProgram) as error:
        return str(error)
    method = Runtime.get().load_program(file, poison=True).load_method("forward")
    sample = given.sample
    for inputs, wanted in ((sample.inputs, sample.results), *given.others):
        try:
            found = method.execute([x.clone() for x in inputs])
        except InputError as error:
            if "the program requires" not in str(error):
                raise AssertionError(str(given)) from error
            continue  # torch has traced it for some sizes only, and says so
        assert difference(list(found), wanted, random=sample.random, entry=sample.entry) is None, str(given)
    return None


NOT_GROWN = frozenset(
    {"bucketize", "linalg.cholesky_ex", "linalg.pinv-singular", "lu_unpack", "searchsorted"}
)
"""Entries whose samples are sorted, singular, positive definite or permutations, and others when they grow: they are
run for the sizes of the sample alone.
"""
AMBIGUOUS = frozenset({"linalg.eig", "linalg.eigh", "svd"})
"""Entries whose results have any sign."""


def refusals(entry: str, count: int) -> list[str]:
    """Why samples of an entry are refused, of as many as `count`."""
    found: list[str] = []
    for sample in samples(entry, "f32", count):
        for given in dynamic_samples(sample):
            reason = refusal(replace(given, others=()) if entry in NOT_GROWN else given)
            if reason is not None:
                found.append(f"{given}: {reason}")
    return found


@pytest.mark.parametrize("entry", ["cumsum", "isin", "masked.median"])
def test_a_sample_of_dynamic_sizes(entry: str) -> None:
    assert not refusals(entry, 1)


@pytest.mark.sweep
@pytest.mark.parametrize("entry", [name for name in entries() if name not in AMBIGUOUS])
def test_samples_of_dynamic_sizes(entry: str) -> None:
    reasons = refusals(entry, SAMPLES)
    if entry in REFUSED:
        assert reasons, "nothing is refused any more"
        pytest.xfail(REFUSED[entry])
    assert not reasons, "\n".join(reasons)
