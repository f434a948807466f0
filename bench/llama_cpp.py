"""Llamas with the weights of ours in llama.cpp, through GGUF.

The package xllamacpp has llama.cpp built in. Its own interface is a server; here, the C functions of the library in it
are called, so that a step is one `llama_decode` and nothing else. Parameters are llama.cpp's defaults, but for the
number of threads: keys and values are f16, and weights are repacked where it has a faster order for them. The package
is compiled for AVX2; a library that was built for this machine can be given instead.

Files have the same numbers as ours: f32; integers of 8 bits with their scale per row, which each group of 32 repeats in
f16 (`Q8_0`); integers of 4 bits with the scale of their group (`Q4_0`). Activations of quantized layers are quantized
in groups of 32, and in ours by row.
"""

from __future__ import annotations

import ctypes
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

__all__ = ["LlamaCpp", "check", "instruction_sets", "load_library", "write"]

GROUP: Final = 32
"""Elements of a block of Q8_0 and Q4_0."""
CHECKED: Final = 16
"""Tokens of the prompt of a check."""
DECODED: Final = 4
"""Tokens after it, one at a time."""
TOLERANCES: Final = {"float": 3e-3, "int8-dynamic": 0.12, "8da4w": 0.12}
"""Relative error of logits, of attention with keys and values in f16, and of other scales of activations.

With operands in f16, torch's attention has an error of 0.0005 in the model of 110 million parameters, and of 0.0012 in
that of 1.1 billion, whose scores are larger; llama.cpp's are 0.0009 and 0.002. With activations in bytes, torch's error
beside those in floats is 0.025 and 0.076; llama.cpp's, beside torch's, 0.03 and 0.088.
"""


# -- files


def write(decoder: Any, path: Path) -> int:
    """Write the model of a `CachedDecoder`, in floats or quantized by `quantize_weights`.

    Returns the bytes of the weights that a token reads.
    """
    from gguf import GGUFWriter

    model = decoder.model
    config = model.config
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("no_vocab")  # token ids are given as they are
    nbytes = 0

    def add(name: str, module: Any, heads: int = 0) -> None:
        nonlocal nbytes
        data, kind = _stored(module.weight.detach(), heads)
        writer.add_tensor(f"{name}.weight", data, raw_dtype=kind)
        nbytes += 0 if name == "token_embd" else data.nbytes

    add("token_embd", model.model.embed_tokens)
    for number, layer in enumerate(model.model.layers):
        attention, block = layer.self_attn, f"blk.{number}"
        add(f"{block}.attn_norm", layer.input_layernorm)
        add(f"{block}.attn_q", attention.q_proj, config.num_attention_heads)
        add(f"{block}.attn_k", attention.k_proj, config.num_key_value_heads)
        add(f"{block}.attn_v", attention.v_proj)
        add(f"{block}.attn_output", attention.o_proj)
        add(f"{block}.ffn_norm", layer.post_attention_layernorm)
        add(f"{block}.ffn_gate", layer.mlp.gate_proj)
        add(f"{block}.ffn_up", layer.mlp.up_proj)
        add(f"{block}.ffn_down", layer.mlp.down_proj)
    add("output_norm", model.model.norm)
    add("output", model.lm_head)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return nbytes


def _stored(weight: Any, heads: int) -> tuple[np.ndarray, Any]:
    """A weight as GGUF stores it, and its type.

    llama.cpp rotates neighbors, transformers the two halves of a head: rows of so many heads change their order.
    """
    from gguf import GGMLQuantizationType

    integers = getattr(weight, "qdata", None)
    if integers is None:
        return _interleaved(weight.numpy(), heads), GGMLQuantizationType.F32
    rows, columns = integers.shape
    groups = columns // GROUP
    scales = _interleaved(weight.scale.float().reshape(rows, -1).numpy(), heads)
    if columns % GROUP or scales.shape[1] not in (1, groups) or bool(weight.zero_point.any()):
        raise ValueError(
            f"{rows} x {columns} with {scales.shape[1]} scales a row: expected 1, or one per {GROUP}"
        )
    blocks = _interleaved(integers.numpy(), heads).reshape(rows, groups, GROUP)
    factors = (
        np.broadcast_to(scales, (rows, groups)).astype(np.float16).view(np.uint8).reshape(rows, groups, 2)
    )
    if scales.shape[1] == 1:
        data, kind = blocks.view(np.uint8), GGMLQuantizationType.Q8_0
    else:
        low, high = np.split((blocks + 8).astype(np.uint8), 2, axis=2)
        data, kind = low | high << 4, GGMLQuantizationType.Q4_0
    return np.concatenate([factors, data], axis=2).reshape(rows, -1), kind


def _interleaved(rows: np.ndarray, heads: int) -> np.ndarray:
    """Rows of which the halves of each head alternate; as they are without heads."""
    if not heads:
        return rows
    return rows.reshape(heads, 2, -1, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)


def check(decoder: Any, path: Path, mode: str, library: ctypes.CDLL) -> float:
    """The relative error of llama.cpp's logits to those of the decoder whose weights a file has.

    Raises `SystemExit` if it is beyond the tolerance of the mode.
    """
    found = LlamaCpp(path, 1, library)
    ids = torch.randint(0, 512, (1, CHECKED + DECODED), generator=torch.Generator().manual_seed(2))
    ends = range(CHECKED, CHECKED + DECODED + 1)
    worst = 0.0
    for first, last in zip([0, *ends], ends, strict=False):
        tokens, at = ids[:, first:last], torch.arange(first, last)
        with torch.no_grad():
            expected = decoder(tokens, at).numpy().ravel()
        error = np.linalg.norm(found.step(tokens.numpy(), at.numpy()) - expected) / np.linalg.norm(expected)
        worst = max(worst, float(error))
    found.close()
    if worst > TOLERANCES[mode]:
        raise SystemExit(f"{path}: llama.cpp's logits differ by {worst:.2g}, more than {TOLERANCES[mode]:g}")
    return worst


# -- the library


class _Opaque(ctypes.Structure):
    """A struct of llama.cpp, passed from one of its functions to another: at most this large."""

    _fields_ = (("content", ctypes.c_uint64 * 128),)


_Log = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
_FUNCTIONS: Final[dict[str, tuple[Any, list[Any]]]] = {
    "llama_log_set": (None, [_Log, ctypes.c_void_p]),
    "llama_print_system_info": (ctypes.c_char_p, []),
    "llama_model_default_params": (_Opaque, []),
    "llama_model_load_from_file": (ctypes.c_void_p, [ctypes.c_char_p, _Opaque]),
    "llama_model_free": (None, [ctypes.c_void_p]),
    "llama_model_get_vocab": (ctypes.c_void_p, [ctypes.c_void_p]),
    "llama_vocab_n_tokens": (ctypes.c_int32, [ctypes.c_void_p]),
    "llama_context_default_params": (_Opaque, []),
    "llama_init_from_model": (ctypes.c_void_p, [ctypes.c_void_p, _Opaque]),
    "llama_free": (None, [ctypes.c_void_p]),
    "llama_set_n_threads": (None, [ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32]),
    "llama_get_memory": (ctypes.c_void_p, [ctypes.c_void_p]),
    "llama_memory_seq_rm": (ctypes.c_bool, [ctypes.c_void_p, *[ctypes.c_int32] * 3]),
    "llama_batch_get_one": (_Opaque, [ctypes.c_void_p, ctypes.c_int32]),
    "llama_decode": (ctypes.c_int32, [ctypes.c_void_p, _Opaque]),
    "llama_get_logits_ith": (ctypes.POINTER(ctypes.c_float), [ctypes.c_void_p, ctypes.c_int32]),
}
_WARNING: Final = 3
_messages: list[str] = []
"""Warnings and errors of the last model that was loaded."""


@_Log
def _log(level: int, text: bytes, _: Any) -> None:
    if level >= _WARNING:
        _messages.append(text.decode(errors="replace"))


def load_library(path: Path | None = None) -> ctypes.CDLL:
    """llama.cpp in a shared library, or the one in the package.

    Raises `SystemExit` for a file that is none, or has other functions.
    """
    if path is None:
        spec = find_spec("xllamacpp.xllamacpp")
        assert spec is not None
        assert spec.origin is not None
        path = Path(spec.origin)
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise SystemExit(f"{path}: no shared library of llama.cpp: {error}") from error
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name, None)
        if function is None:
            raise SystemExit(
                f"{path}: it does not export {name}; install xllamacpp as the bench extra asks for it"
            )
        function.restype, function.argtypes = result, arguments
    library.llama_log_set(_log, None)
    return library


def instruction_sets(library: ctypes.CDLL) -> str:
    """The instruction sets that llama.cpp says it was compiled for, which need not be all that this machine has."""
    return library.llama_print_system_info().decode()


class LlamaCpp:
    """A model of a file, with a cache for one sequence."""

    def __init__(self, path: Path, threads: int, library: ctypes.CDLL) -> None:
        self._library = library
        _messages.clear()
        self._model = library.llama_model_load_from_file(
            str(path).encode(), library.llama_model_default_params()
        )
        if not self._model:
            raise SystemExit(f"{path}: llama.cpp does not load it: {''.join(_messages).strip()}")
        self._context = library.llama_init_from_model(self._model, library.llama_context_default_params())
        if not self._context:
            raise SystemExit(f"{path}: llama.cpp has no context for it: {''.join(_messages).strip()}")
        library.llama_set_n_threads(self._context, threads, threads)
        self._memory = library.llama_get_memory(self._context)
        self._vocabulary = library.llama_vocab_n_tokens(library.llama_model_get_vocab(self._model))

    def step(self, ids: np.ndarray, at: np.ndarray) -> np.ndarray:
        """The logits of the last of tokens `[1, T]` i64 at consecutive positions `[T]` i64; those before are filled.

        `[V]` f32, in memory that the next step overwrites.
        """
        tokens = ids[0].astype(np.int32)
        self._library.llama_memory_seq_rm(self._memory, 0, int(at[0]), -1)
        batch = self._library.llama_batch_get_one(tokens.ctypes.data, len(tokens))
        status = self._library.llama_decode(self._context, batch)
        if status:
            raise RuntimeError(f"llama_decode failed with {status}: {''.join(_messages).strip()}")
        return np.ctypeslib.as_array(
            self._library.llama_get_logits_ith(self._context, -1), (self._vocabulary,)
        )

    def close(self) -> None:
        """Free the model."""
        self._library.llama_free(self._context)
        self._library.llama_model_free(self._model)
