"""What the project promises of itself: commands, layout, sizes."""

from __future__ import annotations

import ast
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "logitsbuf").rglob("*.py"))


def test_ci_runs_the_test_command_of_the_readme() -> None:
    command = (
        "python3 -m venv .venv && .venv/bin/pip install -q -e '.[ci]' && .venv/bin/pytest -n 2"
    )
    assert command in (ROOT / "README.md").read_text(encoding="utf-8")
    ci = (ROOT / ".ci" / "run").read_text()
    assert all(part in ci for part in command.split(" && "))


def test_lower_bounds_are_what_ci_runs() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    for line in (ROOT / ".ci" / "lower-bounds.txt").read_text().splitlines():
        if not line.startswith("#"):
            name, version = line.partition(";")[0].split("==")
            assert f"{name}>={version.removesuffix('.0')}" in project


def test_files_are_small() -> None:
    lengths = [len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES]
    assert max(lengths) <= 350
    assert median(lengths) < 150


def test_functions_are_short() -> None:
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES)
    functions = [n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    assert median(n.end_lineno - n.lineno + 1 for n in functions) < 10


def test_every_folder_says_what_belongs_in_it() -> None:
    for package in {path.parent for path in SOURCES} | {ROOT / "properties"}:
        assert ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8")))
