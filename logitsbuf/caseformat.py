"""Cases as text: JSON for replay, one line for people.

JSON leaves out every field that has its default. A replayed case is parsed and checked, never
evaluated; what does not fit is a UsageError that names the place.
"""

from __future__ import annotations

import json
import types
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from itertools import groupby
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from logitsbuf.case import PATTERNS_SEED, PLACES, Call, Case, Layout, Matrix, Special
from logitsbuf.errors import UsageError
from logitsbuf.formats import FORMATS

MOST_CALLS = 1_000_000
MOST_CELLS = 1 << 28
"""What a replay may ask for: a typing error must not ask for more memory than there is."""


def to_json(case: Case) -> str:
    """The case on one line."""
    data = to_data(case)
    runs = [(call, len(list(run))) for call, run in groupby(data["calls"])]
    data["calls"] = [call | ({"times": n} if n > 1 else {}) for call, n in runs]
    return json.dumps(data, separators=(",", ":"))


def from_json(text: str) -> Case:
    """Read what :func:`to_json` wrote. UsageError on anything else."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"the case is not JSON ({error}); expected what a report printed"
        ) from None
    return from_data(data)


def from_data(data: object) -> Case:
    """A checked case from parsed JSON."""
    case: Case = _parse(Case, _unfolded(data), "case")
    check(case)
    return case


def _unfolded(data: Any) -> Any:
    """Equal calls in a row are written once, with how many ``times``."""
    if not isinstance(data, dict) or not isinstance(data.get("calls"), list):
        return data
    calls: list[Any] = []
    for call in data["calls"]:
        times = call.get("times", 1) if isinstance(call, dict) else 1
        if type(times) is not int or not 1 <= times <= MOST_CALLS:
            _misfit("times", times, f"a number of calls from 1 to {MOST_CALLS}")
        plain = {k: v for k, v in call.items() if k != "times"} if times > 1 else call
        calls += [plain] * times
    return {**data, "calls": calls}


def to_data(value: Any) -> Any:
    """Nested dicts and lists, without the fields that have their defaults."""
    if is_dataclass(value):
        pairs = ((f.name, getattr(value, f.name)) for f in fields(value) if not _default(f, value))
        return {name: to_data(inner) for name, inner in pairs}
    return [to_data(inner) for inner in value] if isinstance(value, tuple) else value


def _default(field: Field[Any], value: Any) -> bool:
    return field.default is not MISSING and getattr(value, field.name) == field.default


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _parse(kind: Any, data: Any, where: str) -> Any:
    if is_dataclass(kind):
        return _parse_record(kind, data, where)
    origin = get_origin(kind)
    if origin is tuple:
        return _parse_tuple(get_args(kind)[0], data, where)
    if origin is Literal:
        return data if data in get_args(kind) else _misfit(where, data, get_args(kind))
    if origin in (types.UnionType, Union):
        return None if data is None else _parse(get_args(kind)[0], data, where)
    return data if type(data) is kind else _misfit(where, data, kind.__name__)


def _parse_record(kind: Any, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        _misfit(where, data, "an object")
    names = {field.name for field in fields(kind)}
    needed = {field.name for field in fields(kind) if field.default is MISSING}
    if unknown := set(data) - names:
        raise UsageError(f"{where} has {sorted(unknown)}; expected some of {sorted(names)}")
    if missing := needed - set(data):
        raise UsageError(f"{where} lacks {sorted(missing)}")
    hints = _hints(kind)
    return kind(**{k: _parse(hints[k], v, f"{where}.{k}") for k, v in data.items()})


def _parse_tuple(kind: Any, data: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(data, list):
        _misfit(where, data, "a list")
    return tuple(_parse(kind, inner, f"{where}[{i}]") for i, inner in enumerate(data))


def _misfit(where: str, given: object, expected: object) -> NoReturn:
    raise UsageError(f"{where} is {given!r}; expected {expected}")


def check(case: Case) -> None:
    """UsageError if the case cannot be built: what is wrong with which call."""
    if not case.calls:
        raise UsageError("the case has no calls; expected at least one")
    for index, call in enumerate(case.calls):
        if problem := _problem(case, call, index):
            raise UsageError(f"call {index} of the case: {problem}")


def _problem(case: Case, call: Call, index: int) -> str | None:
    return (
        next((p for matrix in call.matrices if (p := _matrix_problem(matrix))), None)
        or _call_problem(call)
        or _reuse_problem(case, index, call.logits_of, "logits")
        or _reuse_problem(case, index, call.buffer_of, "buffer")
    )


def _matrix_problem(matrix: Matrix) -> str | None:
    if matrix.rows < 0 or matrix.columns < 1:
        return f"shape {list(matrix.shape)}; expected rows >= 0 and columns >= 1"
    if matrix.layout.pad < 0 or matrix.layout.offset < 0:
        return f"layout {matrix.layout}; expected pad and offset >= 0"
    if max(matrix.span, matrix.rows * matrix.columns) > MOST_CELLS:
        return f"shape {list(matrix.shape)}; expected at most {MOST_CELLS} cells"
    if matrix.dtype not in FORMATS:
        return f"dtype {matrix.dtype!r}; expected one of {sorted(FORMATS)}"
    return None


def _call_problem(call: Call) -> str | None:
    known = FORMATS[call.logits.dtype].specials
    if unknown := [s.value for s in call.specials if s.value not in known]:
        return f"specials {unknown}; {call.logits.dtype} has {sorted(known)}"
    if misplaced := [s.place for s in call.specials if not _placed(s, call.logits)]:
        return f"specials at {misplaced}; expected one of {PLACES} or a cell of the logits"
    if not known:
        return f"logits of {call.logits.dtype}; expected a floating dtype"
    if not 1 <= call.vocab_size < 1 << 63:
        return f"vocab_size {call.vocab_size}; expected at least 1 and 64 bits"
    if not PATTERNS_SEED <= call.seed < 1 << 63:
        return f"seed {call.seed}; expected at least {PATTERNS_SEED} and 64 bits"
    if call.buffer is not None and call.buffer.layout.overlapping:
        return "a buffer whose rows overlap; outside the contract"
    if call.sharing != "separate" and not _shareable(call):
        return f"sharing {call.sharing}; expected float32 logits equal to the buffer and its width"
    return None


def _placed(special: Special, matrix: Matrix) -> bool:
    if (cell := special.cell) is not None:
        return cell[0] < max(matrix.rows, 1) and cell[1] < matrix.columns
    return special.place in PLACES


def _shareable(call: Call) -> bool:
    return call.buffer == call.logits and call.matches and call.logits.dtype == "float32"


def _reuse_problem(case: Case, index: int, earlier: int | None, name: str) -> str | None:
    if earlier is None:
        return None
    if not 0 <= earlier < index:
        return f"{name}_of {earlier}; expected an earlier call"
    if any(call.freed for call in case.calls[earlier + 1 : index + 1]):
        return f"{name}_of {earlier}, which was freed in between"
    mine, theirs = getattr(case.calls[index], name), getattr(case.calls[earlier], name)
    if mine is None or theirs is None or not _fits(mine, theirs):
        return f"{name}_of {earlier}, which has other columns, dtype or layout, or fewer rows"
    return None


def _fits(mine: Matrix, theirs: Matrix) -> bool:
    same = (mine.columns, mine.dtype, mine.layout) == (theirs.columns, theirs.dtype, theirs.layout)
    return same and mine.rows <= theirs.rows and mine.layout.kind == "rows"


def one_line(case: Case) -> str:
    """What a person needs to know of a case, calls separated by `` ; ``."""
    runs = [(text, len(list(run))) for text, run in groupby(map(_call_text, case.calls))]
    calls = " ; ".join(text if n == 1 else f"{n} × ({text})" for text, n in runs)
    return f"{case.scenario}: {calls}"


def _call_text(call: Call) -> str:
    if call.sharing != "separate":
        target = f"the buffer itself ({call.sharing})"
    elif call.buffer is None:
        target = "no buffer"
    else:
        target = f"buffer {_matrix_text(call.buffer)}{_of(call.buffer_of)}"
    text = f"logits {_matrix_text(call.logits)}{_of(call.logits_of)}, {target}"
    return ", ".join([text, f"vocab_size {call.vocab_size}", *_extras(call)])


def _of(earlier: int | None) -> str:
    return "" if earlier is None else f" of call {earlier}"


def _matrix_text(matrix: Matrix) -> str:
    shape = f"{matrix.dtype}{list(matrix.shape)}"
    return shape if matrix.layout == Layout() else f"{shape} {_layout_text(matrix)}"


def _layout_text(matrix: Matrix) -> str:
    layout = matrix.layout
    parts = [f"strides {list(matrix.strides)}"] if (layout.pad or layout.kind != "rows") else []
    parts += [f"offset {layout.offset}"] if layout.offset else []
    parts += ["own storage"] if layout.tight else []
    return f"({', '.join(parts)})"


def _extras(call: Call) -> list[str]:
    extras = [f"{special.value} at {special.place}" for special in call.specials]
    extras += [f"seed {call.seed}"] if call.seed else []
    extras += [f"{call.poison} poison"] if call.poison != "finite" else []
    extras += [f"under {call.mode}"] if call.mode != "plain" else []
    return extras + (["what came before freed"] if call.freed else [])
