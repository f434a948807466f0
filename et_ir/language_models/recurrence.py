"""Recurrent layers over the tokens of a call as scans.

transformers has two forms of such layers: a step, for one token, and one for prompts. The latter is of chunks of fixed
sizes, whose number becomes part of an exported program, or an unrolled loop, and Mamba's begins with zeros, whatever
the cache has. Here each is a scan over any number of tokens, with a step's arithmetic,
which begins with the state that the cache has.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from typing import Any, Final, cast

import torch
from torch import Tensor, nn
from torch._higher_order_ops.scan import scan
from torch.nn import functional
from transformers.cache_utils import Cache

from et_ir.language_models.errors import LanguageModelError

__all__ = ["RecurrentCache", "scanned_recurrence"]


class RecurrentCache(Cache):
    """A cache that knows which state a layer has read last: the one that its scan begins with."""

    initial: Tensor | None = None

    def get_recurrent_state(self, layer_idx: int, state_idx: int = 0) -> Tensor | None:
        """The state of a layer."""
        self.initial = super().get_recurrent_state(layer_idx, state_idx)
        return self.initial


@contextmanager
def scanned_recurrence(model: nn.Module, cache: RecurrentCache) -> Generator[None]:
    """Recurrent layers of `model` as scans while this lasts, from the state that `cache` has."""

    def from_cache(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            return function(cache.initial, *args, **kwargs)

        return called

    with ExitStack() as restored:
        for module in {sys.modules[type(one).__module__] for one in model.modules()}:
            for name, function in _FORMS.items():
                if hasattr(module, name):
                    restored.callback(setattr, module, name, getattr(module, name))
                    setattr(module, name, from_cache(function))
        yield


def _scan(
    step: Callable[..., tuple[Tensor, Tensor]], initial: Tensor | None, sizes: tuple[int, ...], *each: Tensor
) -> tuple[Tensor, Tensor]:
    """The last state, and the results of the tokens `[tokens, …]`: `step` takes a state and a token's `each`.

    Raises `LanguageModelError` for an initial state of other sizes.
    """
    if initial is None:
        initial = torch.zeros(sizes)
    if initial.shape != sizes:
        raise LanguageModelError(
            f"a recurrent layer has a state of {list(initial.shape)}, expected {list(sizes)}"
        )

    def body(state: Tensor, token: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        return step(state, *token)

    # A state of its own: a scan may not give its input, and the cache is changed later.
    return cast(Any, scan)(body, initial.clone(), tuple(one.contiguous() for one in each))


def _selective_scan(
    initial: Tensor | None,
    inputs: Tensor,
    steps: Tensor,
    decay: Tensor,
    into: Tensor,
    out_of: Tensor,
    D: Tensor | None = None,
    z: Tensor | None = None,
    delta_bias: Tensor | None = None,
    delta_softplus: bool = False,
    return_last_state: bool = False,
    **_: Any,
) -> Any:
    """`mamba_selective_scan`: inputs and steps `[1, width, tokens]`, into and out of the state `[1, N, tokens]`.

    After Gu and Dao 2023 (Mamba), algorithm 2.
    """
    if delta_bias is not None:
        steps = steps + delta_bias.to(steps.dtype)[..., None]
    if delta_softplus:
        steps = functional.softplus(steps)

    def step(state: Tensor, kept: Tensor, added: Tensor) -> tuple[Tensor, Tensor]:
        state = kept * state + added
        return state, state.clone()  # a scan may not give one tensor twice

    sizes = (inputs.shape[0], inputs.shape[1], decay.shape[-1])
    x, dt, b, c = (one.permute(2, 0, 1) for one in (inputs, steps, into, out_of))
    kept = torch.exp(decay * dt[..., None])
    last, states = _scan(step, initial, sizes, kept, (dt * x)[..., None] * b[:, :, None].float())
    found = (states * c[:, :, None]).sum(-1).permute(1, 2, 0)
    if D is not None:
        found = found + inputs * D[None, :, None]
    if z is not None:
        found = found * functional.silu(z)
    return (found, last) if return_last_state else found


def _chunk_scan(
    initial: Tensor | None,
    inputs: Tensor,
    steps: Tensor,
    decay: Tensor,
    into: Tensor,
    out_of: Tensor,
    D: Tensor | None = None,
    dt_bias: Tensor | None = None,
    dt_softplus: bool = False,
    dt_limit: tuple[float, float] = (0.0, float("inf")),
    return_final_states: bool = False,
    **_: Any,
) -> Any:
    """`mamba2_chunk_scan`: inputs `[1, tokens, heads, size]`, steps `[1, tokens, heads]`, decay `[heads]`, into and out
    of the state `[1, tokens, groups, N]`.

    After Dao and Gu 2024 (Mamba-2), the recurrent form of equation 16.
    """
    if dt_bias is not None:
        steps = steps + dt_bias.to(steps.dtype)
    if dt_softplus:
        steps = functional.softplus(steps)
    steps = torch.clamp(steps, *dt_limit)
    heads = inputs.shape[2]
    into, out_of = (one.float().repeat_interleave(heads // one.shape[2], dim=2) for one in (into, out_of))
    decay = decay.float()

    def step(state: Tensor, kept: Tensor, x: Tensor, b: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        state = kept * state + x * b
        return state, (state * c).sum(-1)

    sizes = (inputs.shape[0], heads, inputs.shape[3], into.shape[-1])
    x, dt, b, c = (one.float().transpose(0, 1) for one in (inputs, steps, into, out_of))
    kept, x = torch.exp(decay * dt)[..., None, None], (x * dt[..., None])[..., None]
    last, found = _scan(step, initial, sizes, kept, x, b[..., None, :], c[..., None, :])
    found = found.transpose(0, 1)
    if D is not None:
        found = found + D[..., None] * inputs
    return (found, last) if return_final_states else found


def _gated_delta_rule(
    initial: Tensor | None,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    g: Tensor,
    beta: Tensor,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    **_: Any,
) -> tuple[Tensor, Tensor | None]:
    """`torch_chunk_gated_delta_rule`: queries and keys `[1, tokens, heads, K]`, values `[1, tokens, heads, V]`,
    logarithm of the decay and rate of learning `[1, tokens, heads]`.

    After Yang et al. 2024 (Gated Delta Networks), equation 10.
    """
    heads = value.shape[2]
    query, key = (one.float().repeat_interleave(heads // one.shape[2], dim=2) for one in (query, key))
    if use_qk_l2norm_in_kernel:
        query, key = (one * torch.rsqrt((one * one).sum(-1, keepdim=True) + 1e-6) for one in (query, key))
    query = query * query.shape[-1] ** -0.5

    def step(
        state: Tensor, kept: Tensor, q: Tensor, k: Tensor, v: Tensor, rate: Tensor
    ) -> tuple[Tensor, Tensor]:
        state = state * kept
        state = state + k * ((v - (state * k).sum(-2, keepdim=True)) * rate)
        return state, (state * q).sum(-2)

    sizes = (value.shape[0], heads, key.shape[-1], value.shape[-1])
    q, k, v, decay, rate = (one.float().transpose(0, 1) for one in (query, key, value, g, beta))
    columns = (q[..., None], k[..., None], v[..., None, :], rate[..., None, None])
    last, found = _scan(step, initial, sizes, decay.exp()[..., None, None], *columns)
    return found.transpose(0, 1).to(value.dtype), last if output_final_state else None


_FORMS: Final[dict[str, Callable[..., Any]]] = {
    "mamba_selective_scan": _selective_scan,
    "mamba2_chunk_scan": _chunk_scan,
    "torch_chunk_gated_delta_rule": _gated_delta_rule,
}
"""By transformers' names."""
