"""What an implementation promises beyond the contract."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Contract:
    """Promises and capabilities of one implementation.

    fresh: a fallback result never aliases the logits. COPY-FRESH, which informs
        otherwise, is then a MUST.
    """

    fresh: bool = False
