"""Make or check `et_ops/schemas.txt`, the snapshot of torch's operator registry.

    python -m dev.snapshot            # rewrite the snapshot
    python -m dev.snapshot --check    # exit 1 if it is not what this torch registers

Each line is one functional overload, sorted, its fields separated by tabs: schema, tags, schema of its out
variant. An overload is in the snapshot if inference programs can hold it after `torch.export`: it is core
ATen, tagged `view_copy`, decomposed by torch's default table, a leaf (`leaves.txt`), or named in `ALSO`.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any, Final, cast

from et_ops.leaves import LEAVES
from et_ops.library import SNAPSHOT

# Overloads that programs hold before decomposition although none of the rules above selects them: composite
# ops that may alias their input or may write running statistics and that torch therefore tags differently,
# and ops that torch neither decomposes nor counts as core.
ALSO = frozenset(
    """
    __lshift__.Scalar __lshift__.Tensor __rshift__.Scalar __rshift__.Tensor _assert_async.msg
    _assert_tensor_metadata _conj _conj_physical _fft_c2c _fft_c2r _fft_r2c _int_mm
    _native_batch_norm_legit_functional _unique2 _upsample_bicubic2d_aa _upsample_bilinear2d_aa
    adaptive_max_pool2d adaptive_max_pool3d addbmm addmv adjoint alias_copy alpha_dropout angle
    as_strided_scatter atleast_1d atleast_2d atleast_3d batch_norm bernoulli.Tensor bernoulli.p bincount
    bitwise_and.Scalar_Tensor bitwise_left_shift.Scalar_Tensor bitwise_left_shift.Tensor
    bitwise_left_shift.Tensor_Scalar bitwise_or.Scalar_Tensor bitwise_right_shift.Scalar_Tensor
    bitwise_right_shift.Tensor bitwise_right_shift.Tensor_Scalar bitwise_xor.Scalar_Tensor broadcast_to
    bucketize.Scalar bucketize.Tensor cartesian_prod cauchy chunk complex conj conj_physical contiguous
    conv1d.padding conv2d.padding conv3d.padding copysign.Scalar copysign.Tensor cosine_similarity cummax
    cummin cumprod diagonal_scatter digamma dist dropout dsplit.array dsplit.int einsum empty_permuted equal
    erfc erfinv exp2 expand_as exponential feature_alpha_dropout feature_dropout fix flatten.using_ints
    float_power.Tensor_Tensor fmax fmin frexp.Tensor gcd geometric grid_sampler_3d gru.input histc
    hsplit.array hsplit.int hypot i0 igamma igammac imag index_reduce instance_norm kthvalue lcm ldexp.Tensor
    lgamma linalg_cholesky_ex linalg_diagonal linalg_inv_ex linalg_lu_factor_ex linalg_matmul linalg_norm
    linalg_pinv.atol_rtol_tensor linalg_qr linalg_solve_triangular linalg_vector_norm log_normal logcumsumexp
    lstm.input mH mT masked_select matmul matrix_H max max_pool1d_with_indices median median.dim min mode
    moveaxis.int moveaxis.intlist movedim.int movedim.intlist multinomial nanmedian nanmedian.dim narrow
    narrow.Tensor native_batch_norm new_empty_strided nextafter nonzero_static normal.Tensor_Tensor
    normal.Tensor_float normal.float_Tensor normal.float_float normal_functional numpy_T one_hot pad
    pairwise_distance polar polygamma positive put rand_like randint randint.low randint_like
    randint_like.low_dtype randn_like random random.from random.to ravel real remainder.Scalar_Tensor
    repeat_interleave.Tensor reshape reshape_as resolve_conj resolve_neg rms_norm round.decimals
    rrelu_with_noise_functional scatter.reduce scatter.value_reduce searchsorted.Scalar searchsorted.Tensor
    signbit sort.stable split.sizes square swapaxes swapdims tensor_split.indices tensor_split.sections
    tensor_split.tensor_indices_or_sections to.device to.dtype to.dtype_layout to.other tril_indices
    triu_indices type_as unflatten.int unfold uniform unique_consecutive unique_dim unsafe_chunk
    unsafe_split.Tensor unsafe_split_with_sizes upsample_bicubic2d upsample_bicubic2d.vec upsample_bilinear2d
    upsample_nearest1d.vec upsample_trilinear3d upsample_trilinear3d.vec var_mean.correction view.dtype
    view_as view_as_complex view_as_real vsplit.array vsplit.int where.Scalar where.ScalarOther
    where.ScalarSelf
    """.split()  # noqa: SIM905
)

KEPT_TAGS: Final = {
    "core",
    "data_dependent_output",
    "dynamic_output_shape",
    "nondeterministic_seeded",
    "pointwise",
    "reduction",
    "view_copy",
}

# Internals of autograd, autocast and other backends that no exported program holds.
EXCLUDED_PREFIXES = ("_propagate_xla", "_test_", "_cudnn", "_thnn_", "miopen_", "cudnn_", "mkldnn_", "_mps")


def _qualified(op: Any) -> str:
    schema = op._schema
    name = schema.name.removeprefix("aten::")
    return f"{name}.{schema.overload_name}" if schema.overload_name else name


def _signature(arguments: Any) -> list[tuple[str, str]]:
    return [(a.name, str(a.real_type)) for a in arguments]


# Options of factory functions that their out variants take from `out` instead.
FACTORY_OPTIONS = frozenset({"dtype", "layout", "device", "pin_memory"})


def _out_variant(op: Any, overloads: list[Any]) -> str:
    """The schema of the out variant of a functional overload, or an empty text."""
    wanted = _signature(op._schema.arguments)
    returns = len(op._schema.returns)
    relaxed = [a for a in wanted if a[0] not in FACTORY_OPTIONS]
    matches: list[tuple[int, Any]] = []
    for candidate in overloads:
        arguments = candidate._schema.arguments
        outs = [a for a in arguments if a.kwarg_only and a.alias_info is not None and a.alias_info.is_write]
        rest = [a for a in arguments if a not in outs]
        if not outs or any(a.alias_info is not None and a.alias_info.is_write for a in rest):
            continue
        if len(outs) != returns and returns != 1:
            continue
        signature = _signature(rest)
        if signature == wanted:
            matches.append((0, candidate))
        elif signature == relaxed:
            matches.append((1, candidate))
    if not matches:
        return ""
    return _text(min(matches, key=lambda m: m[0])[1])


def _text(op: Any) -> str:
    return str(op._schema).removeprefix("aten::")


def collect() -> list[str]:
    """The snapshot's lines as the installed torch has them."""
    import torch
    from torch.export.exported_program import default_decompositions

    decomposed: set[Any] = set(cast("dict[Any, Any]", default_decompositions()))
    overloads: dict[str, list[Any]] = {}
    registered: Any = torch._C  # pyright: ignore[reportPrivateUsage]  (the registry has no public name)
    for schema in registered._jit_get_all_schemas():
        if not schema.name.startswith("aten::"):
            continue
        packet = getattr(torch.ops.aten, schema.name.removeprefix("aten::"), None)
        try:
            op = getattr(packet, schema.overload_name or "default")
        except AttributeError:
            continue  # TorchScript-only builtins have schemas but no operator
        overloads.setdefault(schema.name, []).append(op)
    lines: list[str] = []
    for ops in overloads.values():
        for op in ops:
            schema, tags = op._schema, {str(tag).removeprefix("Tag.") for tag in op.tags}
            name = _qualified(op)
            types = str(schema)
            if schema.is_mutable or any(word in types for word in ("Dict(", "Dimname", "Stream", "Storage")):
                continue
            if name.startswith(EXCLUDED_PREFIXES) or ("backward" in name and "core" not in tags):
                continue
            if not (tags & {"core", "view_copy"} or op in decomposed or name in ALSO or name in LEAVES):
                continue
            kept = sorted(tags & KEPT_TAGS)
            lines.append("\t".join((_text(op), ",".join(kept), _out_variant(op, ops))))
    missing = (ALSO | LEAVES.keys()) - {line.partition("(")[0] for line in lines}
    if missing:
        raise SystemExit(
            f"ALSO or leaves.txt name operators that this torch does not register: {', '.join(sorted(missing))}"
        )
    return sorted(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    text = "\n".join(collect()) + "\n"
    if arguments.check:
        if text == SNAPSHOT.read_text(encoding="utf-8"):
            return 0
        print("schemas.txt is not what this torch registers: python -m dev.snapshot", file=sys.stderr)
        return 1
    SNAPSHOT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
