"""What a run says before it begins: what is judged, with what, where."""

from __future__ import annotations

import platform

import torch

from logitsbuf import __version__
from logitsbuf.implementation import Implementation
from logitsbuf.options import Request


def header(request: Request, implementation: Implementation, device: torch.device) -> list[str]:
    """Qualified name, versions, device, seed."""
    versions = {"logitsbuf": __version__, "torch": torch.__version__}
    versions |= {"Python": platform.python_version(), **implementation.versions}
    seed = "chosen by Hypothesis" if request.seed is None else str(request.seed)
    promises = [name for name, kept in vars(implementation.contract).items() if kept]
    return [
        f"implementation: {request.implementation} ({implementation.qualified_name})",
        *([f"promises: {', '.join(promises)}"] if promises else []),
        ", ".join(f"{name} {version}" for name, version in versions.items()),
        # Not the device's name: asking for it would bring CUDA up, and then no process can fork.
        f"device: {device}, seed: {seed}",
    ]
