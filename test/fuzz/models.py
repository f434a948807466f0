"""Targets: files of language models, sessions, and what generated text has to match."""

from __future__ import annotations

import io
import json
import re
import wave
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
from support.vm_programs import Build

from et_schema.scalar_type import ScalarType
from et_vm.llm import LanguageModel, Session
from et_vm.llm.audio import LogMel, read_wave
from et_vm.llm.constraint import Constraint
from et_vm.llm.images import read_image
from et_vm.llm.text import Tokenizer
from et_vm.runtime import Runtime
from et_vm.state.files import write_tensors
from fuzz.documents import mutated_json, mutated_store, mutated_words
from fuzz.mutations import mutated_bytes
from fuzz.targets import Case, Target

__all__ = ["TARGETS", "language_model", "model_files", "schemas", "sessions", "tokenizer_files"]

VOCABULARY: Final = 260


def _json(base: str, data: bytes, random: Random) -> bytes:
    del base
    return mutated_json(data, random)


def _bytes(base: str, data: bytes, random: Random) -> bytes:
    del base
    return mutated_bytes(data, random)


def _words(parts: str, *strange: str) -> Callable[[str, bytes, Random], bytes]:
    """Damage to the parts of texts that an expression finds."""
    pattern = re.compile(parts, re.S)

    def damage(base: str, data: bytes, random: Random) -> bytes:
        del base
        text = data.decode()
        for _ in range(random.choice((1, 1, 2, 4))):
            text = mutated_words(text, random, pattern, strange)
        return text.encode("utf-8", "surrogatepass")

    return damage


# -- schemas and expressions


@cache
def schemas() -> dict[str, bytes]:
    """JSON schemas, by name."""
    person = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 20},
            "age": {"type": ["integer", "null"]},
            "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "minItems": 1, "maxItems": 3},
            "code": {"type": "string", "pattern": "^[A-Z]{2}[0-9]+$"},
        },
        "required": ["name", "tags"],
        "additionalProperties": False,
        "$defs": {"tag": {"anyOf": [{"enum": ["a", 1, None]}, {"const": {"x": [1.5]}}, {"type": "number"}]}},
    }
    nested = {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}, "maxItems": 4}}
    return {"person": json.dumps(person).encode(), "nested": json.dumps(nested).encode()}


def _read_schema(case: Case, folder: Path) -> str:
    del folder
    try:
        schema = json.loads(case.content)
    except (ValueError, RecursionError):
        schema = case.content.decode("utf-8", "replace")
    return _matched(Constraint.of_schema(schema))


def _read_expression(case: Case, folder: Path) -> str:
    del folder
    return _matched(Constraint(case.content.decode("utf-8", "surrogatepass")))


def _matched(constraint: Constraint) -> str:
    for text in ("", '{"name":"é","tags":["a"]}', "[[true],[false]]", "ab-12.5e3" * 20):
        constraint.matches(text)
    return "matched"


@cache
def _expressions() -> dict[str, bytes]:
    texts = (
        r"[A-Za-z_]\w{0,30}(\.\d+)?",
        r"(a|b[^c-x]){2,5}\s*é?|\[\]\{3\}",
        r"-?(0|[1-9][0-9]{0,17})(\.[0-9]+)?",
    )
    return {f"expression {at}": text.encode() for at, text in enumerate(texts)}


# -- tokenizers, and the folder of a model


@cache
def _tokenizer() -> bytes:
    """Bytes as tokens, by the signs that byte-level tokenizers have for them."""
    signs = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in signs]
    alphabet = {byte: chr(byte) for byte in signs} | {byte: chr(256 + at) for at, byte in enumerate(others)}
    vocabulary = {"<s>": 0, "</s>": 1} | {alphabet[byte]: byte + 2 for byte in range(256)}
    added = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [{"id": at, "content": name} | added for at, name in enumerate(("<s>", "</s>"))],
            "normalizer": {"type": "NFC"},
            "pre_tokenizer": level,
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [
                    {"SpecialToken": {"id": "<s>", "type_id": 0}},
                    {"Sequence": {"id": "A", "type_id": 0}},
                ],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}},
            },
            "decoder": level,
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "byte_fallback": False,
                "ignore_merges": False,
                "vocab": vocabulary | {"ab": 258},
                "merges": [["a", "b"]],
            },
        }
    ).encode()


@cache
def tokenizer_files() -> dict[str, bytes]:
    """The files of a tokenizer, by name."""
    config = {
        "bos_token": "<s>",
        "eos_token": {"content": "</s>", "lstrip": False, "special": True},
        "added_tokens_decoder": {"0": {"content": "<s>", "special": True}, "259": {"content": "<pad>"}},
        "additional_special_tokens": ["<image>"],
        "chat_template": [{"name": "default", "template": _templates()["chat"].decode()}],
        "model_max_length": 16,
    }
    return {"tokenizer.json": _tokenizer(), "tokenizer_config.json": json.dumps(config).encode()}


def _write_folder(files: dict[str, bytes], case: Case, folder: Path) -> None:
    for name, content in (files | {case.base: case.content}).items():
        (folder / name).write_bytes(content)


def _read_tokenizer(case: Case, folder: Path) -> str:
    _write_folder(tokenizer_files(), case, folder)
    tokenizer = Tokenizer(folder)
    for text in ("", "the abc é\U0001f600 <s>", "\x1b[2J" * 20):
        ids = tokenizer.encode(text)
        tokenizer.decode(ids)
        tokenizer.encode_rest(text)
    tokenizer.id_of("<s>")
    tokenizer.bytes_of_tokens()
    return "read"


@cache
def _templates() -> dict[str, bytes]:
    chat = (
        "{% for message in messages %}{% if loop.first and message['role'] != 'user' %}"
        "{{ raise_exception('no user') }}{% endif %}{{ '<|' ~ message.role ~ '|>' }}\n"
        "{{ message.content | trim }}{{ eos_token }}\n{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
    )
    other = (
        "{%- set ns = namespace(n=0) -%}{%- macro say(x) -%}{{ x | tojson(indent=2) }}{%- endmacro -%}"
        "{%- for m in messages -%}{%- set ns.n = ns.n + 1 -%}{{ say(m) }}{{ strftime_now('%Y')[:0] }}"
        "{%- generation -%}{{ '%s' | format(ns.n) }}{{ range(ns.n) | list | join(',') }}{%- endgeneration -%}"
        "{%- if ns.n > 3 -%}{%- break -%}{%- endif -%}{%- endfor -%}"
    )
    return {"chat": chat.encode(), "other": other.encode()}


def _read_template(case: Case, folder: Path) -> str:
    (folder / "tokenizer.json").write_bytes(_tokenizer())
    (folder / "chat_template.jinja").write_bytes(case.content)
    Tokenizer(folder).chat([{"role": "user", "content": "a\x1bé"}, {"role": "assistant", "content": "b"}])
    return "rendered"


@cache
def model_files() -> dict[str, bytes]:
    """A Llama of one layer, with weights in two files."""
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "float32",
        "vocab_size": VOCABULARY,
        "hidden_size": 8,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 4,
        "hidden_act": "silu",
        "max_position_embeddings": 16,
        "rms_norm_eps": 1e-6,
        "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
        "tie_word_embeddings": False,
        "attention_bias": False,
        "bos_token_id": 0,
        "eos_token_id": 1,
    }
    layer = "model.layers.0."
    sizes = {
        "model.embed_tokens.weight": (VOCABULARY, 8),
        "lm_head.weight": (VOCABULARY, 8),
        "model.norm.weight": (8,),
        f"{layer}input_layernorm.weight": (8,),
        f"{layer}post_attention_layernorm.weight": (8,),
        f"{layer}self_attn.q_proj.weight": (8, 8),
        f"{layer}self_attn.k_proj.weight": (4, 8),
        f"{layer}self_attn.v_proj.weight": (4, 8),
        f"{layer}self_attn.o_proj.weight": (8, 8),
        f"{layer}mlp.gate_proj.weight": (16, 8),
        f"{layer}mlp.up_proj.weight": (16, 8),
        f"{layer}mlp.down_proj.weight": (8, 16),
    }
    shards = {name: f"model-{1 + name.startswith(layer)}.safetensors" for name in sizes}
    found = {
        "config.json": json.dumps(config).encode(),
        "generation_config.json": json.dumps(
            {"bos_token_id": 0, "eos_token_id": [1], "max_length": 16}
        ).encode(),
        "model.safetensors.index.json": json.dumps({"metadata": {}, "weight_map": shards}).encode(),
    }
    with TemporaryDirectory() as folder:
        for shard in sorted(set(shards.values())):
            arrays = {name: np.ones(sizes[name], np.float32) for name in sizes if shards[name] == shard}
            write_tensors(Path(folder, shard), arrays)
            found[shard] = Path(folder, shard).read_bytes()
    return found


def _damage_model(base: str, data: bytes, random: Random) -> bytes:
    return mutated_json(data, random) if base.endswith(".json") else mutated_store(data, random)


def _read_model(case: Case, folder: Path) -> str:
    from et_ir.language_models import LanguageModelError, ModelFolder

    _write_folder(model_files(), case, folder)
    try:
        ModelFolder(folder).load()
    except LanguageModelError as error:
        return type(error).__name__
    return "read"


# -- sessions


@cache
def language_model() -> bytes:
    """The program of a table of logits, beside a state that counts tokens."""
    build = Build("forward")
    table = build.constant(np.ones((VOCABULARY, VOCABULARY), np.float32))
    tokens, position = build.tensor(1, 1, dtype=ScalarType.LONG), build.tensor(1, dtype=ScalarType.LONG)
    logits, one, no = build.tensor(1, 1, VOCABULARY), build.scalar(1), build.scalar(False)
    count = build.state(np.zeros(4, np.float32), name="count")
    build.call("aten::embedding.out", table, tokens, build.scalar(-1), no, no, logits, logits)
    build.call("aten::add.out", count, build.constant(np.ones(4, np.float32)), one, count, count)
    build.inputs(tokens, position)
    build.outputs(logits)
    return build.file()


@cache
def _language_model() -> LanguageModel:
    return LanguageModel(Runtime().load_program(language_model()))


@cache
def sessions() -> dict[str, bytes]:
    """Saved sessions of `language_model`."""
    with TemporaryDirectory() as folder:
        session = Session(_language_model())
        session.feed([1, 2, 3])
        path = Path(folder, "saved.safetensors")
        session.save(path)
        return {"saved": path.read_bytes()}


def _read_session(case: Case, folder: Path) -> str:
    path = folder / "saved.safetensors"
    path.write_bytes(case.content)
    session = Session(_language_model())
    session.restore(path)
    session.feed([5, 6])
    return "went on"


# -- audio and images

_MEL: Final = LogMel(rate=100, seconds=1, hop=10, window=20, bands=4)


@cache
def _waves() -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for channels, width in ((1, 2), (2, 1), (1, 4)):
        stream = io.BytesIO()
        with wave.open(stream, "wb") as file:
            file.setnchannels(channels)
            file.setsampwidth(width)
            file.setframerate(_MEL.rate)
            file.writeframes(bytes(range(200))[: 20 * channels * width])
        found[f"wave {channels} {width}"] = stream.getvalue()
    return found


def _read_wave(case: Case, folder: Path) -> str:
    path = folder / "a.wav"
    path.write_bytes(case.content)
    _MEL.features(read_wave(path, _MEL))
    return "read"


_PREPROCESSOR: Final = "preprocessor_config.json"


@cache
def _images() -> dict[str, bytes]:
    from PIL import Image

    pixels = np.arange(8 * 6 * 3, dtype=np.uint8).reshape(8, 6, 3)
    found: dict[str, bytes] = {}
    for kind in ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM", "TGA", "ICO"):
        stream = io.BytesIO()
        Image.fromarray(pixels).save(stream, kind)
        found[kind] = stream.getvalue()
    config = {
        "do_center_crop": True,
        "resample": 2,
        "rescale_factor": 0.004,
        "do_normalize": True,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.2, 0.2, 0.2],
    }
    return found | {_PREPROCESSOR: json.dumps({"image_processor": config}).encode()}


def _damage_image(base: str, data: bytes, random: Random) -> bytes:
    return (_json if base == _PREPROCESSOR else _bytes)(base, data, random)


def _read_image(case: Case, folder: Path) -> str:
    files = _images()
    image, config = (
        (files["PNG"], case.content) if case.base == _PREPROCESSOR else (case.content, files[_PREPROCESSOR])
    )
    (folder / "image").write_bytes(image)
    (folder / _PREPROCESSOR).write_bytes(config)
    found = read_image(folder / "image", (4, 4), folder)
    assert found.shape == (1, 3, 4, 4)
    return "read"


_REGULAR: Final = (
    *(
        "{1000}",
        "{99999999}",
        "{9",
        "{,}",
        "{3,1}",
        "*",
        "+",
        "?",
        "|",
        "(",
        ")",
        "[",
        "]",
        "^",
        "\\",
        r"\p",
        ".",
    ),
    *(
        "[^a]",
        "(((a*)*)*)*",
        "[\u0080-\U0010ffff]",
        "a{1000}",
        "\ud800",
        "\0",
        "é",
        "(" * 2000,
        "{" + "1" * 5000 + "}",
    ),
)
_JINJA: Final = (
    *(
        "{{",
        "}}",
        "{%",
        "%}",
        "{#",
        "9 ** 9 ** 9",
        "range(10 ** 9)",
        "''.__class__",
        "messages",
        "| tojson",
        "None",
    ),
    *(
        "('a' * 10 ** 9)",
        ".center(10 ** 12)",
        "[0] * 10 ** 10",
        "{% include '/etc/passwd' %}",
        "self",
        "cycler",
    ),
    *(
        "{% for i in range(99999) %}",
        "{% endfor %}",
        "lipsum(n=10 ** 6)",
        "joiner",
        "%0999999999d",
        "'\\ud800'",
    ),
)

TARGETS: Final = {
    "schema": Target(schemas, _json, _read_schema, share=100),
    "expression": Target(_expressions, _words(r"\\.|\{[^}]*\}|.", *_REGULAR), _read_expression, share=60),
    "tokenizer": Target(tokenizer_files, _json, _read_tokenizer, share=60),
    "template": Target(
        _templates,
        _words(r"\{[{%-]+|[-%}]+\}|\w+|\s+|.", *_JINJA),
        _read_template,
        share=6,
        starts=("chat_rendering.py",),
    ),
    "model": Target(model_files, _damage_model, _read_model, share=30),
    "session": Target(
        sessions, lambda _, data, random: mutated_store(data, random), _read_session, share=100
    ),
    "wave": Target(_waves, _bytes, _read_wave, share=100),
    "image": Target(_images, _damage_image, _read_image, share=100),
}
"""By name."""
