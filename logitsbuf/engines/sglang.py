"""SGLang's copy of logits into the shared buffer, as released.

Facts about its releases (0.5.1 to 0.5.23), all in ``sglang/srt/layers/logits_processor.py``:
- up to 0.4.10 there is no buffer;
- 0.5.1 to 0.5.8: the copy is a part of ``LogitsProcessor._get_logits``, which asks an
  ``lm_head`` without weight through its ``quant_method`` for the logits;
- from 0.5.9: ``LogitsProcessor._copy_logits_to_buffer(logits, logits_metadata)``;
- from 0.5.22 that calls kernels written in triton, 0.5.23 for 16-bit logits on CUDA.
"""

from __future__ import annotations

import importlib.util
from types import FunctionType
from typing import TYPE_CHECKING, Any

from logitsbuf.engines.locate import located
from logitsbuf.engines.sandbox import execute
from logitsbuf.engines.sglang_objects import HEAD, Metadata, processor_type
from logitsbuf.engines.source import Release, opened
from logitsbuf.engines.standin import Standin, leak, name_of
from logitsbuf.errors import HarnessError, NotRun, UsageError
from logitsbuf.implementation import Implementation

if TYPE_CHECKING:
    from torch import Tensor

    from logitsbuf.implementation import CopyFunction

_MODULE = "sglang.srt.layers.logits_processor"
_CLASS = "LogitsProcessor"
_DIRECT = "_copy_logits_to_buffer"
_INLINE = "_get_logits"
# Modules that import torch and triton only, and so can be executed for real.
_KERNELS = "sglang.kernels."


def load(spec: str, device: str) -> Implementation:
    """The copy of ``sglang==X``, ``sglang@PATH`` or ``sglang``, to run on that device.

    Raises UsageError, NotRun (CUDA, a release with kernels, no triton) or HarnessError.
    """
    spec, path = located(spec, "sglang")
    with opened(path, "sglang") as release:
        namespace, function = _function(release)
        if device.startswith("cuda"):
            _make_kernels_real(release, function, namespace)
    name = f"{_MODULE}.{_CLASS}.{function.__name__}"
    where = path.name if path.is_file() else path
    return Implementation(
        spec=spec,
        qualified_name=f"{name} (sglang {release.version}, {where})",
        copy=_adapted(function, namespace[_CLASS]),
        versions={"sglang": release.version},
    )


def _function(release: Release) -> tuple[dict[str, Any], FunctionType]:
    """The names of the executed module, and the function that copies."""
    file = release.get(_MODULE.replace(".", "/") + ".py")
    namespace = execute(file, _MODULE) if file else {}
    processor = namespace.get(_CLASS)
    methods = vars(processor) if isinstance(processor, type) else {}
    function = methods.get(_DIRECT) or methods.get(_INLINE)
    for found in (processor, function):
        if isinstance(found, Standin):
            raise leak(found, f"found in the place of {_CLASS}")
    if isinstance(function, FunctionType) and _knows_a_buffer(function):
        return namespace, function
    raise UsageError(
        f"{release.where} holds no {_MODULE}.{_CLASS} with a logits buffer; "
        "expected SGLang 0.5.1 or later"
    )


def _knows_a_buffer(function: FunctionType) -> bool:
    return "next_token_logits_buffer" in function.__code__.co_names


def _make_kernels_real(release: Release, function: FunctionType, names: dict[str, Any]) -> None:
    """Put the release's own kernels in the place of the stand-ins that the copy calls."""
    modules: dict[str, dict[str, Any]] = {}
    for name in function.__code__.co_names:
        value = names.get(name)
        if isinstance(value, Standin) and name_of(value).startswith(_KERNELS):
            module, _, attribute = name_of(value).rpartition(".")
            if module not in modules:
                modules[module] = _kernel_module(release, module)
            names[name] = modules[module].get(attribute, value)


def _kernel_module(release: Release, module: str) -> dict[str, Any]:
    if importlib.util.find_spec("triton") is None:
        raise NotRun(f"sglang {release.version} needs triton on CUDA, which is not installed")
    file = release.get(module.replace(".", "/") + ".py")
    if file is None:
        raise HarnessError(f"{release.where} holds no {module}, which its copy imports")
    return execute(file, module, also_real=frozenset({"triton"}))


def _adapted(function: FunctionType, processor: type) -> CopyFunction:
    """The method as ``copy_logits_to_buffer``.

    Costs are counted: nothing here touches a tensor. Every object is made for one call, so
    that nothing is kept.
    """
    receiver = processor_type(processor)
    head = (HEAD,) if function.__name__ == _INLINE else ()

    def copy_logits_to_buffer(logits: Tensor, buffer: Tensor | None, vocab_size: int) -> Tensor:
        result = function(receiver(vocab_size), logits, *head, Metadata(buffer))
        if isinstance(result, Standin):
            raise leak(result, "returned")
        return result  # type: ignore[no-any-return]

    return copy_logits_to_buffer
