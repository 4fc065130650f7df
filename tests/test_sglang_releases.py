"""Which releases the SGLang adapter gets hold of, and what real ones do."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest
import torch

from logitsbuf.engines import load_engine
from logitsbuf.errors import UsageError

PROCESSOR = "sglang/srt/layers/logits_processor.py"
COPY = """
class LogitsProcessor:
    def _copy_logits_to_buffer(self, logits, logits_metadata):
        return logits_metadata.next_token_logits_buffer
"""
V = 128256


def wheel(directory: Path, tag: str = "py3-none-any", **files: str) -> Path:
    """A wheel of sglang 9.9.9 with the given files, in a form that pip accepts."""
    info = "sglang-9.9.9.dist-info"
    about = {
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: sglang\nVersion: 9.9.9\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: t\nTag: {tag}\n",
        f"{info}/RECORD": "",
    }
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"sglang-9.9.9-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, **about}.items():
            archive.writestr(name, text)
    return path


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is all that pip can fetch from; the cache is empty."""
    monkeypatch.setenv("LOGITSBUF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    (tmp_path / "index").mkdir()
    return tmp_path / "index"


@pytest.mark.parametrize("tag", ["py3-none-any", "cp312-cp312-manylinux_2_34_x86_64"])
def test_a_release_is_fetched_once(index: Path, tag: str) -> None:
    fetched = wheel(index, tag, **{PROCESSOR: COPY})
    load_engine("sglang==9.9.9", "cpu")
    fetched.unlink()
    implementation = load_engine("sglang==9.9.9", "cpu")
    assert implementation.spec == "sglang==9.9.9"
    assert fetched.name in implementation.qualified_name
    assert [path.name for path in (index.parent / "cache/wheels").iterdir()] == [fetched.name]


def test_a_release_that_pip_cannot_fetch_is_named(index: Path) -> None:
    with pytest.raises(UsageError, match=r"sglang==9\.9\.8: No matching distribution"):
        load_engine("sglang==9.9.8", "cpu")
    assert not list((index.parent / "cache/wheels").iterdir())


def test_a_cache_that_cannot_be_written_is_named(index: Path) -> None:
    (index.parent / "cache").write_text("a file")
    with pytest.raises(UsageError, match="cannot be kept in"):
        load_engine("sglang==9.9.9", "cpu")


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("sglang==../x", "names no version"),
        ("sglang==", "names no version"),
        ("sglang>=0.5", "names no release"),
        ("sglang@", "names no release"),
        ("sglang@no/such.whl", r"no/such\.whl does not exist"),
        ("vllm==1.0", "no engine is called 'vllm==1.0'; expected one of: sglang"),
    ],
)
def test_a_spec_that_leads_nowhere_is_a_usage_error(spec: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        load_engine(spec, "cpu")


def test_a_release_that_is_not_installed_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="but none is; expected sglang==X"):
        load_engine("sglang", "cpu")


OLD = "class LogitsProcessor:\n    def _get_logits(self, hidden_states): pass\n"


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({}, r"expected SGLang 0\.5\.1 or later"),
        ({PROCESSOR: ""}, r"expected SGLang 0\.5\.1 or later"),
        ({PROCESSOR: OLD}, r"expected SGLang 0\.5\.1 or later"),
        ({PROCESSOR: "def"}, "does not compile"),
    ],
)
def test_a_wheel_without_the_function_is_a_usage_error(
    tmp_path: Path, files: dict[str, str], complaint: str
) -> None:
    path = wheel(tmp_path, **files)
    with pytest.raises(UsageError, match=complaint):
        load_engine(f"sglang@{path}", "cpu")


@pytest.mark.parametrize(("start", "complaint"), [(0, "cannot be read"), (90, "is damaged")])
def test_a_damaged_wheel_is_a_usage_error(tmp_path: Path, start: int, complaint: str) -> None:
    path = wheel(tmp_path, **{PROCESSOR: COPY})
    content = path.read_bytes()
    damaged = content[: len(content) // 2] if start == 0 else None
    path.write_bytes(damaged or content[:start] + b"#" + content[start + 1 :])
    with pytest.raises(UsageError, match=complaint):
        load_engine(f"sglang@{path}", "cpu")


def outcome(version: str, logits: torch.Tensor, buffer: torch.Tensor | None, vocab: int) -> str:
    """What a release makes of a call, in a word and a shape."""
    before = torch.empty(0) if buffer is None else buffer.clone()
    try:
        result = load_engine(f"sglang=={version}", "cpu").copy(logits, buffer, vocab)
    except (RuntimeError, AssertionError) as error:
        return type(error).__name__
    where = "buffer" if result is buffer else "fresh"
    where = "logits" if result.data_ptr() == logits.data_ptr() else where
    assert where == "buffer" or buffer is None or torch.equal(buffer, before)
    assert result.dtype == torch.float32
    return f"{where} {list(result.shape)}"


# Shapes of logits and buffer, vocabulary; up to 0.5.14; from 0.5.15.
TABLE = {
    "reduced": ((8, 32768), (8, V), V, "RuntimeError", "fresh [8, 32768]"),
    "exact": ((8, V), (8, V), V, f"buffer [8, {V}]", f"buffer [8, {V}]"),
    "padded": ((8, 128320), (8, V), V, f"buffer [8, {V}]", f"buffer [8, {V}]"),
    "one_row_buffer": ((8, V), (1, V), V, "RuntimeError", f"fresh [8, {V}]"),
    "one_row_logits": ((1, V), (8, V), V, f"buffer [8, {V}]", f"fresh [1, {V}]"),
    "one_column": ((8, 1), (8, 128), 128, "buffer [8, 128]", "fresh [8, 1]"),
}
OLD_RELEASES = ["0.5.1", "0.5.8.post1", "0.5.9", "0.5.14"]
NEW_RELEASES = ["0.5.15", "0.5.16", "0.5.23"]


@pytest.mark.network
@pytest.mark.parametrize("case", TABLE)
@pytest.mark.parametrize("version", OLD_RELEASES + NEW_RELEASES)
def test_a_real_release_does_what_was_seen(version: str, case: str) -> None:
    logits, buffer, vocab, old, new = TABLE[case]
    expected = old if version in OLD_RELEASES else new
    ones = torch.ones(logits, dtype=torch.bfloat16)
    assert outcome(version, ones, torch.zeros(buffer), vocab) == expected


@pytest.mark.network
@pytest.mark.parametrize("version", OLD_RELEASES + NEW_RELEASES)
def test_a_real_release_guards_the_dtype_of_what_it_writes_to(version: str) -> None:
    logits, other = torch.ones((8, V), dtype=torch.bfloat16), torch.zeros((4, V)).bfloat16()
    off_a_match = "AssertionError" if version in OLD_RELEASES else f"fresh [8, {V}]"
    assert outcome(version, logits, torch.zeros_like(logits), V) == "AssertionError"
    assert outcome(version, logits, other, V) == off_a_match


@pytest.mark.network
@pytest.mark.parametrize("version", OLD_RELEASES + NEW_RELEASES)
def test_a_real_release_returns_float32_logits_as_they_are(version: str) -> None:
    assert outcome(version, torch.ones(2, V), None, V) == f"logits [2, {V}]"
