"""The command ``logitsbuf``. A thin shell: parse, call, exit code.

``spec``, ``list`` and ``explain`` answer from data and do not import torch.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence

from logitsbuf import __version__
from logitsbuf.errors import LogitsbufError, UsageError
from logitsbuf.options import Request, parse_count, parse_only, random_seed

EXIT_CODES = (
    "exit codes: 0 conforms, 1 a violation, 2 the command was wrong, 3 the harness failed, "
    "4 the device was lost"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code says whose fault it is."""
    parsed = _parser().parse_args(arguments)
    # torch says so once per process when numpy is not installed; nothing here uses numpy.
    warnings.filterwarnings("ignore", "Failed to initialize NumPy")
    try:
        if not __debug__:
            raise UsageError("python -O removes asserts; run without it")
        code: int = parsed.run(parsed)
    except LogitsbufError as error:
        print(f"logitsbuf: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("logitsbuf: interrupted", file=sys.stderr)
        return 3
    except BrokenPipeError:
        sys.stderr.close()
        return 3
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="logitsbuf", description=__doc__, epilog=EXIT_CODES)
    parser.add_argument("--version", action="version", version=f"logitsbuf {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    _add_check(commands)
    _add_self_check(commands)
    spec = commands.add_parser("spec", help="print the specification")
    spec.add_argument("--markdown", action="store_true", help="as properties/README.md")
    spec.set_defaults(run=_spec)
    listing = commands.add_parser("list", help="invariants, scenarios, known implementations")
    listing.set_defaults(run=_list)
    explain = commands.add_parser("explain", help="one invariant: statement, why, reports")
    explain.add_argument("invariant")
    explain.set_defaults(run=_explain)
    return parser


def _add_check(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    check = commands.add_parser("check", help="judge an implementation", epilog=EXIT_CODES)
    check.add_argument(
        "implementation",
        nargs="?",
        default="reference",
        help="reference (default), pkg.mod:attr, sglang, sglang==X, sglang@PATH, mutant:NAME",
    )
    check.add_argument("--device", help="cpu, cuda or cuda:N (default: CUDA where there is one)")
    check.add_argument("--max-examples", help="drawn for each scenario after its sweep")
    check.add_argument("--seed", help="fixes what is drawn")
    check.add_argument("--only", action="append", help="judge these invariants alone")
    check.add_argument("--strict", action="store_true", help="a violated SHOULD fails")
    check.add_argument("-n", dest="workers", help="worker processes (pytest-xdist)")
    check.add_argument("-k", dest="select", help="scenarios by name, as in pytest")
    check.add_argument("--repro-dir", help="write a stand-alone script for each finding here")
    check.add_argument("--replay", metavar="JSON", help="make one printed case's calls, and judge")
    check.set_defaults(run=_check)


def _add_self_check(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    check = commands.add_parser("self-check", help="hold the suite to its known implementations")
    check.add_argument("--max-examples", help="drawn for each scenario after its sweep")
    check.add_argument("--seed", help="fixes what is drawn (default: 0)")
    check.add_argument("-k", dest="select", help="mutants whose name contains this")
    check.set_defaults(run=_self_check)


def _check(parsed: argparse.Namespace) -> int:
    seed = parse_count("--seed", parsed.seed, 0)
    if not parsed.implementation.strip():
        raise UsageError("the implementation is empty; expected reference, pkg.mod:attr, …")
    parse_count("-n", parsed.workers, 0)
    request = Request(
        implementation=parsed.implementation,
        device=parsed.device,
        max_examples=parse_count("--max-examples", parsed.max_examples, 1),
        seed=random_seed() if seed is None else seed,
        only=parse_only(parsed.only),
        strict=parsed.strict,
        repro_dir=parsed.repro_dir,
    )
    if parsed.replay is not None:
        from logitsbuf.replay import print_replay

        return print_replay(request, parsed.replay)
    from logitsbuf.checkrun import check

    return check(request, workers=parsed.workers, select=parsed.select)


def _self_check(parsed: argparse.Namespace) -> int:
    from logitsbuf.selfcheck import self_check

    examples = parse_count("--max-examples", parsed.max_examples, 1)
    return self_check(
        select=parsed.select or "",
        max_examples=examples or 20,
        seed=parse_count("--seed", parsed.seed, 0) or 0,
    )


def _spec(parsed: argparse.Namespace) -> int:
    from logitsbuf.report.specification import markdown, plain

    print(markdown() if parsed.markdown else plain(), end="")
    return 0


def _list(_: argparse.Namespace) -> int:
    from logitsbuf.report.specification import listing

    print(listing(), end="")
    return 0


def _explain(parsed: argparse.Namespace) -> int:
    from logitsbuf.report.specification import explained

    print(explained(parsed.invariant), end="")
    return 0
