"""What a user may ask of a run, checked once, the same for pytest and for ``logitsbuf check``."""

from __future__ import annotations

import random
from dataclasses import dataclass

from logitsbuf.errors import UsageError
from logitsbuf.spec import BY_ID


@dataclass(frozen=True, kw_only=True)
class Request:
    """One run as it was asked for.

    implementation: text. device: text, None for CUDA where there is one. only: invariant ids,
    empty for all. repro_dir: where stand-alone scripts go, None for nowhere.
    """

    implementation: str = "reference"
    device: str | None = None
    max_examples: int | None = None
    seed: int | None = None
    only: tuple[str, ...] = ()
    strict: bool = False
    repro_dir: str | None = None


def random_seed() -> int:
    """A seed short enough to type again."""
    return random.SystemRandom().randrange(1, 1_000_000)


def parse_only(values: list[str] | None) -> tuple[str, ...]:
    """Invariant ids, given once each or separated by commas. UsageError for an unknown one."""
    ids = [part.strip().upper() for value in values or () for part in value.split(",")]
    if unknown := [name for name in ids if name not in BY_ID]:
        raise UsageError(f"--only {', '.join(unknown)}: expected some of {', '.join(BY_ID)}")
    return tuple(ids)


def parse_count(name: str, text: str | None, least: int) -> int | None:
    """A whole number. UsageError for anything else, or below ``least``."""
    if text is None:
        return None
    if not text.removeprefix("-").isdecimal() or int(text) < least:
        raise UsageError(f"{name} {text}: expected a whole number, at least {least}")
    return int(text)
