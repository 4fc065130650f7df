"""The device of a run."""

from __future__ import annotations

import os

import torch

from logitsbuf.errors import UsageError


def resolve_device(text: str | None) -> torch.device:
    """The device by name (``cpu``, ``cuda``, ``cuda:1``); for None, CUDA where there is one.

    UsageError for anything else, and for a CUDA device that does not exist.
    """
    # Ask the driver's library: the other way brings CUDA up, and no replay could fork after that.
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    if text is None:
        return torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    kind, colon, index = text.partition(":")
    if kind == "cpu" and not colon:
        return torch.device("cpu")
    if kind == "cuda" and (not colon or index.isdecimal()):
        return _cuda(text, int(index or 0))
    raise UsageError(f"device {text!r}; expected cpu, cuda or cuda:N")


def _cuda(text: str, index: int) -> torch.device:
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if index >= count:
        raise UsageError(f"device {text!r}, but torch sees {count} CUDA devices here")
    return torch.device("cuda", index)
