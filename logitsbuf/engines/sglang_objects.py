"""The objects that SGLang's copy is handed: only what it reads, set so that it only copies.

Reading anything else is an error of this adapter, not of SGLang: it says so instead of
looking like an AttributeError of the implementation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logitsbuf.errors import HarnessError

if TYPE_CHECKING:
    from torch import Tensor


class _Partial:
    """An object of which only some attributes exist."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        # Special names are how Python and torch probe for protocols.
        if name.startswith("__"):
            raise AttributeError(name)
        kind = type(self).__name__
        raise HarnessError(f"SGLang's copy reads {kind}.{name}, which the adapter does not set")


class LogitsProcessor(_Partial):
    """``self``: one process, no scaling, no soft cap, no gathering."""

    __slots__ = ("vocab_size",)

    logit_scale = None
    final_logit_softcapping = None
    use_fp32_lm_head = False
    use_attn_tp_group = False
    do_tensor_parallel_all_gather = False
    do_tensor_parallel_all_gather_dp_attn = False

    def __init__(self, vocab_size: int) -> None:
        self.vocab_size = vocab_size

    @property
    def config(self) -> LogitsProcessor:
        """Releases up to 0.5.8 read ``self.config.vocab_size``."""
        return self


class Metadata(_Partial):
    """``logits_metadata``: the buffer of this call."""

    __slots__ = ("next_token_logits_buffer",)

    def __init__(self, buffer: Tensor | None) -> None:
        self.next_token_logits_buffer = buffer


class _Head:
    """``lm_head`` without a weight, whose logits are the hidden states that it is given.

    SGLang asks it with ``hasattr`` for weights and adapters, so it has plain attributes.
    """

    @property
    def quant_method(self) -> _Head:
        return self

    def apply(self, _head: object, hidden_states: Tensor, _bias: object = None) -> Tensor:
        return hidden_states


HEAD = _Head()


def processor_type(original: type) -> type[LogitsProcessor]:
    """Our ``self`` with the methods of SGLang's class, which the copy may call as helpers.

    SGLang's class itself is a torch module, whose construction needs a running server.
    """
    methods = {name: value for name, value in vars(original).items() if name[:2] != "__"}
    return type("LogitsProcessor", (LogitsProcessor,), methods)
