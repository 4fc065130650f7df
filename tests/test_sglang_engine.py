"""The SGLang adapter on tiny fake releases: no network, no SGLang."""

from __future__ import annotations

import contextlib
import gc
import sys
import weakref
import zipfile
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from logitsbuf.engines import is_engine, load_engine
from logitsbuf.errors import HarnessError, NotRun
from logitsbuf.implementation import Implementation

PROCESSOR = "sglang/srt/layers/logits_processor.py"
KERNELS = "sglang/kernels/ops/activation/softcap.py"

# What real releases do while they are imported, and a copy whose body each test gives.
MODULE = """
import dataclasses
import logging
from typing import List, Optional

import torch
import triton
import triton.language as tl
from torch import nn

from sglang.kernels.ops.activation.softcap import cast
from sglang.srt.model_executor.forward_batch_info import ForwardBatch, ForwardMode
from sglang.srt.server_args import get_global_server_args
from sglang.srt.utils import is_npu, width
from .dp_attention import DpPaddingMode

logger = logging.getLogger(__name__)
_is_npu = is_npu()
_args = get_global_server_args()
if _is_npu or width > 3:
    raise RuntimeError("a stand-in was true")

@dataclasses.dataclass
class Output(ForwardBatch):
    mode: "Optional[ForwardMode]" = ForwardMode.NULL
    many: List[DpPaddingMode] | None = None

@triton.jit
def kernel(x, BLOCK: tl.constexpr):
    pass

class LogitsProcessor(nn.Module):
    def {name}(self, {arguments}logits_metadata):
        buffer = logits_metadata.next_token_logits_buffer
        {body}
"""
COPY = """if buffer is None:
            return logits.float()
        assert buffer.dtype == torch.float
        return buffer.copy_(logits[:, : self.vocab_size])"""


def module(body: str, name: str = "_copy_logits_to_buffer", arguments: str = "logits, ") -> str:
    return MODULE.format(body=body, name=name, arguments=arguments)


def wheel(directory: Path, files: dict[str, str], package: str = "sglang") -> Path:
    path = directory / f"{package}-0.5.99-py3-none-any.whl"
    info = f"{package}-0.5.99.dist-info"
    about = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.5.99\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, **about}.items():
            archive.writestr(name, text)
    return path


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture
def copy_with(tmp_path: Path) -> Callable[[str], Implementation]:
    def load(body: str, device: str = "cpu", **files: str) -> Implementation:
        path = wheel(tmp_path, {PROCESSOR: module(body), **files})
        return load_engine(f"sglang@{path}", device)

    return load


def call(implementation: Implementation) -> torch.Tensor:
    return implementation.copy(torch.ones(2, 4), torch.zeros(2, 3), 3)


def test_specs_of_engines_are_told_from_others() -> None:
    assert all(map(is_engine, ["sglang", "sglang==0.5.14", "sglang@a.whl", "sglang>=1"]))
    assert not any(
        map(is_engine, ["reference", "sglang.mod:f", "sglang:f", "mutant:x", "", "vllm"])
    )


def test_a_wheel_copies_into_the_buffer(copy_with: Callable[..., Implementation]) -> None:
    implementation = copy_with(COPY)
    buffer = torch.zeros(2, 3)
    assert implementation.copy(torch.ones(2, 4), buffer, 3) is buffer
    assert buffer.eq(1).all()
    assert implementation.versions == {"sglang": "0.5.99"}
    assert implementation.qualified_name == (
        "sglang.srt.layers.logits_processor.LogitsProcessor._copy_logits_to_buffer "
        "(sglang 0.5.99, sglang-0.5.99-py3-none-any.whl)"
    )


def test_an_inline_copy_is_reached_through_the_head(tmp_path: Path) -> None:
    body = """hidden = lm_head.quant_method.apply(lm_head, hidden, None)
        return buffer.copy_(hidden[:, : self.config.vocab_size])"""
    text = module(body, name="_get_logits", arguments="hidden, lm_head, ")
    loaded = load_engine(f"sglang@{wheel(tmp_path, {PROCESSOR: text})}", "cpu")
    assert "LogitsProcessor._get_logits (" in loaded.qualified_name
    assert call(loaded).eq(1).all()


def test_a_copy_may_call_helpers_of_its_class(copy_with: Callable[..., Implementation]) -> None:
    body = "return self._help(logits)\n\n    def _help(self, logits):\n        return logits"
    assert call(copy_with(body)).shape == (2, 4)


@pytest.mark.parametrize("inner", ["", "python/"])
def test_a_tree_serves_like_a_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inner: str
) -> None:
    files = {PROCESSOR: module(COPY), "sglang/version.py": '__version__ = "0.5.98"\n'}
    tree(tmp_path / "tree", {inner + name: text for name, text in files.items()})
    monkeypatch.chdir(tmp_path)
    implementation = load_engine("sglang@tree", "cpu")
    assert implementation.spec == f"sglang@{tmp_path / 'tree'}"
    assert implementation.versions == {"sglang": "0.5.98"}
    assert call(implementation).eq(1).all()


def test_the_installed_release_is_found_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"sglang/__init__.py": "raise RuntimeError('imported')", PROCESSOR: module(COPY)}
    metadata = {"sglang-0.5.97.dist-info/METADATA": ""}
    monkeypatch.syspath_prepend(tree(tmp_path, {**files, **metadata}))
    implementation = load_engine("sglang", "cpu")
    assert (implementation.spec, implementation.versions["sglang"]) == ("sglang", "0.5.97")
    assert call(implementation).eq(1).all()


def test_loading_adds_no_module(copy_with: Callable[..., Implementation]) -> None:
    before = set(sys.modules)
    copy_with(COPY)
    added = set(sys.modules) - before
    assert {name for name in added if not name.startswith("encodings.")} == set()  # zipfile's


LEAKS = {
    "is_npu()": "return _is_npu",
    "is_npu() was used as a condition": "return logits if _is_npu else buffer",
    "width was used in the operation": "return buffer.copy_(logits) if 3 < width else logits",
    "width was given to mul": "return logits * width",
    "width was used in": "return width * logits",
    "width was converted with __index__": "return logits[:, :width]",
    "width was given to to": "return logits.to(width)",
    "width was iterated": "return [*width]",
    "ForwardMode was used as a type": "return logits if isinstance(3, ForwardMode) else 0",
    "sglang.srt.server_args.get_global_server_args was called": "get_global_server_args()",
    "get_global_server_args().x was called": "_args.x(logits)",
    "triton.jit()[...] was called": "kernel[(1,)](logits)",
    "LogitsProcessor.attn_tp_size": "return self.attn_tp_size",
    "Metadata.mode": "return logits_metadata.mode",
}


@pytest.mark.parametrize(("named", "body"), LEAKS.items())
def test_a_standin_that_matters_is_an_error_of_the_harness(
    copy_with: Callable[..., Implementation], named: str, body: str
) -> None:
    implementation = copy_with(body)
    with pytest.raises(HarnessError) as caught:
        call(implementation)
    assert named in str(caught.value)


def test_a_copy_decorated_by_a_standin_is_refused(tmp_path: Path) -> None:
    text = module(COPY).replace("    def _copy", "    @is_npu\n    def _copy")
    with pytest.raises(HarnessError, match=r"sglang\.srt\.utils\.is_npu\(\)"):
        load_engine(f"sglang@{wheel(tmp_path, {PROCESSOR: text})}", "cpu")


def test_a_module_that_needs_more_than_standins_is_an_error_of_the_harness(tmp_path: Path) -> None:
    path = wheel(tmp_path, {PROCESSOR: module(COPY) + "\nx = int(width)\n"})
    with pytest.raises(HarnessError, match=r"sglang\.srt\.utils\.width was converted"):
        load_engine(f"sglang@{path}", "cpu")


def test_the_adapter_dispatches_no_operator(copy_with: Callable[..., Implementation]) -> None:
    implementation, logits, buffer = copy_with("return buffer"), torch.ones(2, 3), torch.ones(2, 3)
    with profile(activities=[ProfilerActivity.CPU]) as operators:
        assert implementation.copy(logits, buffer, 3) is buffer
    assert [event.key for event in operators.key_averages() if "aten" in event.key] == []


@pytest.mark.parametrize("body", ["return logits.float()", "assert not 'raised'"])
def test_the_adapter_keeps_nothing(copy_with: Callable[..., Implementation], body: str) -> None:
    implementation, logits, buffer = copy_with(body), torch.ones(2, 3).half(), torch.ones(2, 3)
    gc.disable()
    try:
        kept = [weakref.ref(logits), weakref.ref(buffer)]
        with contextlib.suppress(AssertionError):
            kept.append(weakref.ref(implementation.copy(logits, buffer, 3)))
        del logits, buffer
        assert [reference() for reference in kept] == [None] * len(kept)
    finally:
        gc.enable()


def test_kernels_are_real_on_cuda_only(
    copy_with: Callable[..., Implementation], monkeypatch: pytest.MonkeyPatch
) -> None:
    triton = ModuleType("triton")
    triton.__spec__ = ModuleSpec("triton", None)
    triton.double = lambda x: x * 2  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "triton", triton)
    files = {KERNELS: "import triton\n\ndef cast(x):\n    return triton.double(x)\n"}
    assert call(copy_with("return cast(logits)", "cuda:0", **files)).eq(2).all()
    with pytest.raises(HarnessError, match=r"softcap\.cast was called"):
        call(copy_with("return cast(logits)", "cpu", **files))


def test_without_triton_kernels_do_not_run(
    copy_with: Callable[..., Implementation], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    copy_with(COPY, "cuda")
    with pytest.raises(NotRun, match="needs triton"):
        copy_with("return cast(logits)", "cuda", **{KERNELS: ""})
