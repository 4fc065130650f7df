"""The executable specification of the shared logits buffer.

``copy_logits_to_buffer`` is the reference implementation, ``check`` runs the suite against any
other, ``Contract`` says what an implementation promises beyond the contract.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logitsbuf.api import Report, ViolationError, check
    from logitsbuf.contract import Contract
    from logitsbuf.reference import copy_logits_to_buffer
    from logitsbuf.replay import replay

__version__ = "0.1.0"

__all__ = ["Contract", "Report", "ViolationError", "check", "copy_logits_to_buffer", "replay"]

_HOMES = {
    "Contract": "logitsbuf.contract",
    "Report": "logitsbuf.api",
    "ViolationError": "logitsbuf.api",
    "check": "logitsbuf.api",
    "copy_logits_to_buffer": "logitsbuf.reference",
    "replay": "logitsbuf.replay",
}


def __getattr__(name: str) -> Any:
    """Import on first use: commands that only read the specification must not wait for torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'logitsbuf' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value  # a submodule of the same name must not hide it
    return value
