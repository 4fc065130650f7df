"""What a call costs, seen by dispatching its operators.

A dispatch mode sees every operator that torch runs; a function mode sees what reads tensor data
on the host without an operator (``tolist``, ``numpy``). Work that torch does not dispatch, such as
a foreign kernel, stays unseen, and :attr:`Costs.seen` says so.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from logitsbuf.observation import Costs

_READING_METHODS = frozenset(
    [
        "tolist",
        "numpy",
        "item",
        "__bool__",
        "__int__",
        "__float__",
        "__index__",
        "__array__",
        "__contains__",
        "cpu",
    ]
)
_READING_OPERATORS = frozenset(
    [
        "_local_scalar_dense",
        "is_nonzero",
        "equal",
        "nonzero",
        "masked_select",
        "_unique2",
        "unique_dim",
    ]
)


class Recorder:
    """Records between ``__enter__`` and ``__exit__``."""

    def __init__(self) -> None:
        self.allocations: list[str] = []
        self.writes: list[str] = []
        self.views: list[str] = []
        self.host_reads: list[str] = []
        self._modes: tuple[Any, ...] = (_Functions(self), _Operators(self))

    def __enter__(self) -> Recorder:
        for mode in self._modes:
            mode.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        for mode in reversed(self._modes):
            mode.__exit__(None, None, None)

    def costs(self, *, seen: bool) -> Costs:
        """The record as data."""
        return Costs(
            allocations=tuple(self.allocations),
            writes=tuple(self.writes),
            views=tuple(self.views),
            host_reads=tuple(self.host_reads),
            seen=seen,
        )


class _Functions(TorchFunctionMode):
    def __init__(self, record: Recorder) -> None:
        super().__init__()
        self._record = record

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        # On the CPU ``cpu`` is no transfer, but the same line waits for an accelerator.
        if name in _READING_METHODS:
            self._record.host_reads.append(name)
        return func(*args, **(kwargs or {}))


class _Operators(TorchDispatchMode):
    def __init__(self, record: Recorder) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._record = record

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        inputs = [x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor)]
        self._kind(func.overloadpacket.__name__, result, inputs, "out" in kwargs).append(
            func.overloadpacket.__name__
        )
        return result

    def _kind(self, name: str, result: Any, inputs: list[torch.Tensor], out: bool) -> list[str]:
        """An operator reads on the host, writes an argument, views it, or allocates."""
        if name in _READING_OPERATORS or leaves_device(result, inputs):
            return self._record.host_reads
        # torch's naming convention; an operator that returns no tensor can only have written.
        if out or name.endswith("_") or not isinstance(result, torch.Tensor):
            return self._record.writes
        if shares_storage(result, inputs):
            return self._record.views
        return self._record.allocations


def leaves_device(result: Any, inputs: list[torch.Tensor]) -> bool:
    """Whether data of an accelerator came to the host."""
    on_host = isinstance(result, torch.Tensor) and result.device.type == "cpu"
    return on_host and any(tensor.device.type != "cpu" for tensor in inputs)


def shares_storage(result: torch.Tensor, inputs: list[torch.Tensor]) -> bool:
    """Whether a result lies in the storage of one of the inputs."""
    address = result.untyped_storage().data_ptr()
    return any(tensor.untyped_storage().data_ptr() == address for tensor in inputs)
