"""An implementation under test: its functions, its name, and what it promises."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from logitsbuf.contract import Contract

if TYPE_CHECKING:
    from torch import Tensor

    CopyFunction = Callable[[Tensor, Tensor | None, int], Tensor]


@dataclass(frozen=True, kw_only=True)
class Implementation:
    """What a run judges.

    spec: the text that names it (``sglang==0.5.14``, ``pkg.mod:fn``), or None when it was
        handed over as an object and no other process can find it.
    qualified_name: where the function really lives, for the header of a run.
    copy: ``copy_logits_to_buffer(logits, buffer, vocab_size)``.
    versions: what else a bug report needs to know, package to version.
    """

    spec: str | None
    qualified_name: str
    copy: CopyFunction
    contract: Contract = Contract()
    versions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
