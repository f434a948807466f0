"""Make or check `schemas.txt`, the snapshot of torch's operator registry that the dialects are generated from.

    python -m et_ir.registry.snapshot            # rewrite the snapshot
    python -m et_ir.registry.snapshot --check    # exit 1 if it is not what this torch registers

Each line is one functional overload, sorted, its fields separated by tabs: schema, tags, schema of its out variant. An
overload is in the snapshot if inference programs can hold it after `torch.export`: it is core ATen, tagged `view_copy`,
decomposed by torch's default table, or named in `ALSO`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

SNAPSHOT = Path(__file__).with_name("schemas.txt")

# Overloads that programs hold before decomposition although none of the rules above selects them: composite ops that may
# alias their input or may write running statistics, and that torch therefore tags differently.
ALSO = frozenset(
    """
    _assert_async.msg _assert_tensor_metadata _fft_c2c _fft_c2r _fft_r2c _native_batch_norm_legit_functional _unique2
    alias_copy atleast_1d atleast_2d atleast_3d batch_norm broadcast_to chunk contiguous conv1d.padding conv2d.padding
    conv3d.padding dropout einsum expand_as feature_dropout flatten.using_ints instance_norm matmul
    max_pool1d_with_indices movedim.int movedim.intlist narrow.Tensor numpy_T reshape reshape_as rms_norm tensor_split.indices
    tensor_split.sections to.device to.dtype to.dtype_layout to.other unflatten.int unsafe_chunk unsafe_split.Tensor
    unsafe_split_with_sizes view_as where.ScalarOther where.ScalarSelf where.Scalar type_as gru.input lstm.input
    upsample_bicubic2d.vec upsample_nearest1d.vec upsample_trilinear3d.vec adjoint mT mH matrix_H swapaxes swapdims
    hsplit.int vsplit.int dsplit.int hsplit.array vsplit.array dsplit.array ravel square fix float_power.Tensor_Tensor
    linalg_norm linalg_vector_norm linalg_matmul one_hot cosine_similarity pairwise_distance pad
    """.split()  # noqa: SIM905
)

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

    decomposed = set(default_decompositions().keys())
    overloads: dict[str, list[Any]] = {}
    for schema in torch._C._jit_get_all_schemas():  # pyright: ignore
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
            if name.startswith(EXCLUDED_PREFIXES) or "backward" in name:
                continue
            if not (tags & {"core", "view_copy"} or op in decomposed or name in ALSO):
                continue
            kept = sorted(tags & {"core", "view_copy", "pointwise", "nondeterministic_seeded", "data_dependent_output",
                                  "dynamic_output_shape", "reduction"})  # fmt: skip
            lines.append("\t".join((_text(op), ",".join(kept), _out_variant(op, ops))))
    missing = ALSO - {line.partition("(")[0] for line in lines}
    if missing:
        raise SystemExit(f"ALSO names operators that this torch does not register: {', '.join(sorted(missing))}")
    return sorted(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    text = "\n".join(collect()) + "\n"
    if arguments.check:
        if text == SNAPSHOT.read_text(encoding="utf-8"):
            return 0
        print("schemas.txt is not what this torch registers: python -m et_ir.registry.snapshot", file=sys.stderr)
        return 1
    SNAPSHOT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
