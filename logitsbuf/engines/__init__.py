"""Serving engines whose copy is judged as released, without installing them.

Here belongs everything that knows a particular engine: where its releases come from, how its
function is reached, and what its surroundings must look like for it to run. One module per
engine offers ``load(spec, device) -> Implementation`` and is named in the table below;
``source``, ``fetch``, ``standin`` and ``sandbox`` are for all of them. Nothing outside this
folder may treat an engine specially. Importing this package does not import torch.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from logitsbuf.engines import sglang
from logitsbuf.errors import UsageError
from logitsbuf.implementation import Implementation

_ENGINES: dict[str, Callable[[str, str], Implementation]] = {"sglang": sglang.load}

# `name` alone or before a version or a path; `pkg.mod:attr` and `mutant:name` are no engines.
_SPEC = re.compile(r"(?P<name>[a-z]\w*)(?=$|[=@<>!~\s])")


def _engine_of(spec: str) -> str | None:
    match = _SPEC.match(spec)
    return match["name"] if match and match["name"] in _ENGINES else None


def is_engine(spec: str) -> bool:
    """Whether the spec names an engine, well-formed or not; such a spec is for ``load_engine``."""
    return _engine_of(spec) is not None


def load_engine(spec: str, device: str) -> Implementation:
    """The copy of one engine: ``sglang==0.5.14``, ``sglang@PATH`` or ``sglang``.

    Raises UsageError for a spec that leads nowhere, NotRun when the engine needs a package
    that this machine lacks, HarnessError when the adapter does not fit this release.
    """
    name = _engine_of(spec)
    if name is None:
        raise UsageError(f"no engine is called {spec!r}; expected one of: {', '.join(_ENGINES)}")
    return _ENGINES[name](spec, device)
