"""Sessions: texts over one set of weights, apart from each other."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from support.language_model import compiled, model

from et_ir import ExecutorchBackendConfig, to_edge
from et_schema.errors import ExecutorchError, InputError, InvalidFile
from et_schema.scalar_type import ScalarType
from et_vm.llm import LanguageModel, Session
from et_vm.llm.model import Images
from et_vm.runtime import Runtime
from et_vm.state.files import read_tensors, write_tensors
from examples.models.cached_llama import CachedLlama, methods

TEXT = [0, 9, 30, 200, 4, 17, 65, 66, 67, 5, 5, 90, 11, 12, 13, 14, 15]


def opened(**options: object) -> LanguageModel:
    return LanguageModel(Runtime().load_program(compiled(**options)))  # pyright: ignore[reportArgumentType]


def expected(ids: list[int]) -> np.ndarray:
    with torch.no_grad():
        return model()(torch.tensor([ids]), use_cache=False).logits[0].numpy()


def close(found: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_facts() -> None:
    found = opened()
    assert (found.chunk, found.context, found.vocabulary) == (8, 48, 280)
    assert (found.bos_id, found.eos_ids) == (0, frozenset({1}))
    assert (found.prefill_step.method, found.decode_step.method) == ("forward", "decode")


@pytest.mark.parametrize("pieces", [[17], [3, 14], [1, 1, 8, 7], [9, 8]])
@pytest.mark.parametrize("chunk", [1, 8])
def test_prompts_in_pieces(pieces: list[int], chunk: int) -> None:
    session = Session(opened(chunk=chunk))
    wanted, at = expected(TEXT), 0
    for piece in pieces:
        close(session.feed(TEXT[at : at + piece]), wanted[at + piece - 1])
        at += piece
    assert session.tokens == tuple(TEXT)
    assert session.room == 48 - 17


def test_logits_of_each_token() -> None:
    session = Session(opened(all_logits=True))
    close(session.feed_all(TEXT), expected(TEXT))
    session.rewind(12)
    close(session.feed_all(TEXT[12:]), expected(TEXT)[12:])
    with pytest.raises(ExecutorchError, match="logits of the last token"):
        Session(opened()).feed_all(TEXT)


def test_sessions_are_apart() -> None:
    found = opened()
    one, other = Session(found), Session(found)
    one.feed(TEXT[:5])
    other.feed(TEXT[::-1])
    close(one.feed(TEXT[5:]), expected(TEXT)[-1])
    fork = one.fork()
    close(fork.feed([7, 8]), expected([*TEXT, 7, 8])[-1])
    assert one.tokens == tuple(TEXT)
    close(one.feed([9]), expected([*TEXT, 9])[-1])
    one.reset()
    assert (one.tokens, one.logits) == ((), None)
    close(one.feed(TEXT[:3]), expected(TEXT[:3])[-1])


def test_two_threads() -> None:
    found = opened()
    texts = [TEXT, TEXT[::-1]]
    results: dict[int, np.ndarray] = {}

    def run(number: int) -> None:
        session = Session(found)
        results[number] = [session.feed([token]) for token in texts[number]][-1]

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, text in enumerate(texts):
        close(results[number], expected(text)[-1])


CONTINUE = """
import sys
from et_vm.llm import LanguageModel, Session
from et_vm.runtime import Runtime
session = Session(LanguageModel(Runtime().load_program(sys.argv[1])))
session.restore(sys.argv[2])
assert "torch" not in sys.modules
print(int(session.logits.argmax()), *(int(session.feed([token]).argmax()) for token in (4, 5)))
"""


def test_saved_and_continued_in_another_process(tmp_path: Path) -> None:
    (tmp_path / "model.pte").write_bytes(compiled())
    session = Session(opened())
    first = int(session.feed(TEXT).argmax())
    session.save(tmp_path / "session.safetensors")
    done = subprocess.run(
        [sys.executable, "-c", CONTINUE, tmp_path / "model.pte", tmp_path / "session.safetensors"],
        check=True,
        capture_output=True,
        text=True,
    )
    following = [int(session.feed([token]).argmax()) for token in (4, 5)]
    assert [*map(int, done.stdout.split())] == [first, *following]


def test_sessions_of_other_programs(tmp_path: Path) -> None:
    session = Session(opened())
    session.feed(TEXT)
    session.save(tmp_path / "session")
    other = Session(opened(layers=1))
    with pytest.raises(InputError, match="of another program"):
        other.restore(tmp_path / "session")
    assert other.tokens == ()
    program = Runtime().load_program(compiled())
    program.load_method("forward").state.save(tmp_path / "state")
    with pytest.raises(InputError, match="not a saved session"):
        session.restore(tmp_path / "state")
    (tmp_path / "damaged").write_bytes((tmp_path / "session").read_bytes()[:50])
    with pytest.raises(ExecutorchError):
        session.restore(tmp_path / "damaged")
    with pytest.raises(ExecutorchError):
        session.restore(tmp_path / "absent")
    close(session.feed([3]), expected([*TEXT, 3])[-1])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("session.tokens", np.array([[1, 2], [3, 4]])),
        ("session.tokens", np.array([1.5, 2.0])),
        ("session.tokens", np.array([1, 280])),
        ("session.tokens", np.arange(49)),
        ("session.logits", np.zeros(5, np.float32)),
        ("session.logits", np.zeros(280, np.int64)),
        ("session.source", np.zeros((1, 3, 32), np.float32)),
        ("cache.keys_0", np.zeros((1, 2, 5, 8), np.float32)),
        ("cache.keys_7", np.zeros(1, np.float32)),
    ],
)
def test_damaged_sessions(name: str, value: np.ndarray, tmp_path: Path) -> None:
    session = Session(opened())
    session.feed(TEXT)
    session.save(tmp_path / "session")
    write_tensors(tmp_path / "damaged", {**read_tensors(tmp_path / "session"), name: value})
    session.feed([3])
    with pytest.raises(InputError, match="is a damaged session"):
        session.restore(tmp_path / "damaged")
    close(session.feed([4]), expected([*TEXT, 3, 4])[-1])


def test_session_with_bytes_behind_it(tmp_path: Path) -> None:
    """As of a file that was copied over a longer one."""
    session = Session(opened())
    session.feed(TEXT)
    session.save(tmp_path / "session")
    with (tmp_path / "session").open("ab") as file:
        file.write(b"more")
    session.feed([3])
    with pytest.raises(InvalidFile, match="4 bytes behind its tensors"):
        session.restore(tmp_path / "session")
    close(session.feed([4]), expected([*TEXT, 3, 4])[-1])


def test_logits_wider_than_the_vocabulary(tmp_path: Path) -> None:
    """Programs may have logits for more ids than they say there are."""
    found = opened()
    found.vocabulary = 270
    session, other = Session(found), Session(found)
    session.feed(TEXT)
    session.save(tmp_path / "session")
    other.restore(tmp_path / "session")
    np.testing.assert_array_equal(other.logits, session.logits)


@pytest.mark.parametrize(
    ("ids", "message"),
    [([], "no tokens"), ([3, 280], "token id 280: the vocabulary has 280"), ([1] * 32, "do not fit")],
)
def test_refused_tokens_change_nothing(ids: list[int], message: str) -> None:
    session = Session(opened())
    session.feed(TEXT)
    with pytest.raises(InputError, match=message):
        session.feed(ids)
    assert session.tokens == tuple(TEXT)
    close(session.feed([3]), expected([*TEXT, 3])[-1])


@pytest.mark.parametrize("chunk", [1, 8])
def test_single_tokens(chunk: int) -> None:
    """`advance` gives what `feed` does; `logits` stay what they are when the next token comes."""
    one, other = (Session(opened(chunk=chunk)) for _ in range(2))
    one.feed(TEXT[:3])
    other.feed(TEXT[:3])
    before = one.logits
    held: list[np.ndarray] = []
    wanted: list[np.ndarray] = []
    for token in TEXT[3:8]:
        wanted.append(other.feed([token]))
        np.testing.assert_array_equal(one.advance(token), wanted[-1])
        assert one.logits is not None
        held.append(one.logits)
    np.testing.assert_array_equal(held, wanted)
    np.testing.assert_array_equal(before, Session(one.model).feed(TEXT[:3]))
    assert one.tokens == tuple(TEXT[:8])
    one.advance(TEXT[8])
    fork = one.fork()
    close(one.advance(7), expected([*TEXT[:9], 7])[-1])
    close(fork.logits, expected(TEXT[:9])[-1])
    close(fork.advance(8), expected([*TEXT[:9], 8])[-1])


def test_a_single_token_that_is_refused() -> None:
    session = Session(opened())
    session.feed(TEXT)
    session.advance(3)
    for token in (280, -1):
        with pytest.raises(InputError, match=f"token id {token}: the vocabulary has 280"):
            session.advance(token)
    close(session.logits, expected([*TEXT, 3])[-1])
    while session.room:
        session.advance(4)
    with pytest.raises(InputError, match="do not fit"):
        session.advance(5)
    assert len(session.tokens) == 48


def test_ways_back() -> None:
    session = Session(opened())
    session.feed(TEXT)
    with pytest.raises(ExecutorchError, match="cannot go back by 8"):
        session.rewind(9)
    with pytest.raises(InputError, match="length 18"):
        session.rewind(18)
    session.rewind(17)
    assert session.logits is not None
    session.rewind(10)
    close(session.feed([3, 4]), expected([*TEXT[:10], 3, 4])[-1])
    session.advance(5)
    session.rewind(11)
    assert session.logits is None
    close(session.advance(6), expected([*TEXT[:10], 3, 6])[-1])


def test_programs_of_other_forms() -> None:
    """`prefill` of two tokens or more and `decode`, without constant methods, with the positions in the state."""
    torch.manual_seed(0)
    sizes = {"vocabulary": 50, "width": 32, "heads": 4, "kv_heads": 2, "hidden": 64, "layers": 1}
    other = CachedLlama(**sizes).eval()
    programs = {
        name: torch.export.export(module, inputs, dynamic_shapes=shapes)
        for name, (module, inputs, shapes) in methods(other).items()
    }
    file = to_edge(programs).to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    found = LanguageModel(Runtime().load_program(file))
    assert (found.chunk, found.context, found.vocabulary, found.bos_id) == (64, 128, 50, None)
    session, ids = Session(found), torch.arange(1, 8)[None]
    session.feed(ids[0, :5].tolist())
    logits = [session.feed([token]) for token in ids[0, 5:].tolist()][-1]
    with torch.no_grad():
        wanted = other(ids, torch.arange(7))[0]
    np.testing.assert_allclose(logits, wanted.numpy(), rtol=1e-4, atol=1e-4)


class NotOne(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


def test_other_programs() -> None:
    file = (
        to_edge(torch.export.export(NotOne(), (torch.ones(2),)))
        .to_executorch(ExecutorchBackendConfig())
        .buffer
    )
    with pytest.raises(ExecutorchError, match="not a language model: 'forward' has 1 input and"):
        LanguageModel(Runtime().load_program(file))


def images_of(tokens: int, grid: object) -> Images:
    """Those of a program whose encoder gives so many embeddings for an image of 8 x 8 pixels."""
    program = Runtime().load_program(compiled())
    found = LanguageModel(program)
    pixels = SimpleNamespace(dtype=lambda: ScalarType.FLOAT, sizes=lambda: (1, 3, 8, 8))
    made = SimpleNamespace(dtype=lambda: ScalarType.FLOAT, sizes=lambda: (1, tokens, 0))
    encoder = SimpleNamespace(
        num_inputs=lambda: 1,
        num_outputs=lambda: 1,
        input_tag=lambda _: "Tensor",
        output_tag=lambda _: "Tensor",
        input_tensor_meta=lambda _: pixels,
        output_tensor_meta=lambda _: made,
    )
    found.program = SimpleNamespace(metadata=lambda _: encoder, core=program.core)
    constants = {"get_image_token_id": 5, **({} if grid is None else {"get_image_grid": grid})}
    found._constant = constants.get
    return found._images()


@pytest.mark.parametrize(
    ("tokens", "grid"),
    [(0, None), (4, [4]), (4, 4), (4, [-2, -2]), (4, [2.0, 2.0]), (4, [3, 2])],
    ids=["none", "one", "number", "negative", "floats", "others"],
)
def test_grids_of_images_that_make_no_sense(tokens: int, grid: object) -> None:
    """As a damaged program may have them."""
    with pytest.raises(ExecutorchError, match="are not rows and columns of the"):
        images_of(tokens, grid)


@pytest.mark.parametrize("grid", [None, [1, 4], [4, 1], [2, 2]])
def test_grids_of_images(grid: list[int] | None) -> None:
    """One row where the program does not say."""
    found = images_of(4, grid)
    assert found.grid == tuple(grid or (1, 4))
    assert (found.height, found.width, found.tokens, found.token_id) == (8, 8, 4, 5)
