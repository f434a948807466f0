"""Explanations of compilations: choices, passes, delegation, errors of quantization."""

from __future__ import annotations

from typing import Any, Final

from et_schema.errors import InvalidFile

__all__ = ["explanation_facts"]

HINT: Final = "et-compile --explain=json prints one, or --why-not-delegated=json"
FOOTPRINT: Final = ("instructions", "buffers", "memory", "constants")


def explanation_facts(found: Any, file: str) -> dict[str, Any]:
    """The parts that a report shows: `choices`, `passes`, `delegation` (None where no backend was asked for) and
    `quantization`. Reports of delegation alone are taken too.

    Raises InvalidFile for what is neither.
    """
    try:
        if "left_out" in found:
            found = {"delegation": found}
        elif "choices" not in found:
            raise KeyError("choices")
        delegation = found.get("delegation")
        return {
            "target": str(found.get("target", "")),
            "level": str(found.get("level", "")),
            "choices": [_choice(one) for one in found.get("choices", ())],
            "passes": [
                {"pass": str(one["pass"]), **{key: _optional(one[key], int) for key in FOOTPRINT}}
                for one in found.get("passes", ())
            ],
            "delegation": None if delegation is None else _delegation(delegation),
            "quantization": [_quantized(one) for one in found.get("quantization", ())],
        }
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise InvalidFile("no explanation of a compilation", where=file, hint=HINT) from error


def _choice(one: Any) -> dict[str, Any]:
    return {
        "op": str(one["op"]),
        "operands": str(one["operands"]),
        "source": str(one["source"]),
        "candidates": [[str(each["name"]), _optional(each["seconds"], float)] for each in one["candidates"]],
        "chosen": str(one["chosen"]),
        "measured": bool(one["measured"]),
    }


def _delegation(found: Any) -> dict[str, Any]:
    return {
        "delegated": int(found["delegated"]),
        "partitions": [
            {"method": str(one["method"]), "backend": str(one["backend"]), "ops": int(one["ops"])}
            for one in found["partitions"]
        ],
        "left_out": [
            {
                "method": str(one["method"]),
                "op": str(one["op"]),
                "module": str(one["module"]),
                "source": _source(one["source"]),
                "reasons": [[str(each["reason"]), str(each["detail"] or "")] for each in one["reasons"]],
            }
            for one in found["left_out"]
        ],
        "by_reason": [
            {
                "reason": str(one["reason"]),
                "ops": int(one["ops"]),
                "operators": {str(name): int(count) for name, count in one["operators"].items()},
            }
            for one in found["by_reason"]
        ],
    }


def _source(frames: Any) -> str:
    """`file:line` of the innermost frame."""
    if isinstance(frames, str):
        return frames
    return f"{frames[-1]['file']}:{frames[-1]['line']}" if frames else ""


def _quantized(found: Any) -> dict[str, Any]:
    return {
        "method": str(found["method"]),
        "mode": _optional(found.get("mode"), str),
        "rounded": int(found.get("rounded", 0)),
        "layers": [
            {
                **{key: str(one[key]) for key in ("name", "operator")},
                **{key: int(one[key]) for key in ("bytes_before", "bytes_after")},
                **{key: _optional(one[key], float) for key in ("weight_sqnr", "output_sqnr")},
            }
            for one in found["layers"]
        ],
        "operators": [
            {
                **{key: str(one[key]) for key in ("name", "operator", "place")},
                **{key: _optional(one[key], float) for key in ("own_sqnr", "output_sqnr")},
            }
            for one in found.get("operators", ())
        ],
        "unquantized": [str(one) for one in found["unquantized"]],
    }


def _optional(value: Any, convert: Any) -> Any:
    return None if value is None else convert(value)
