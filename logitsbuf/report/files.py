"""Scripts as files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch

from logitsbuf.case import Case
from logitsbuf.options import Request
from logitsbuf.report.script import script
from logitsbuf.verdict import Finding


def write_scripts(
    findings: Iterable[Finding], request: Request, device: torch.device
) -> dict[Case, str]:
    """A script for each confirmed finding, if the request names a folder; path by case."""
    if request.repro_dir is None:
        return {}
    folder = Path(request.repro_dir)
    folder.mkdir(parents=True, exist_ok=True)
    written: dict[Case, str] = {}
    for finding in findings:
        if finding.level != "MAY" and finding.status == "confirmed":
            path = folder / f"{finding.scenario}-{finding.invariant.lower()}.py"
            path.write_text(script(finding, request.implementation, device), encoding="utf-8")
            written.setdefault(finding.case, str(path))
    return written
