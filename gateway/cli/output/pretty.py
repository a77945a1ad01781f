"""EDN broken into lines for reading: what fits stays on one line, else each entry or element has its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adalog.datalog import edn, values

Value = values.Value


def pretty(value: Value, width: int) -> str:
    """The value as EDN, with lines of at most `width` characters where single values allow."""
    return "\n".join(_lines(value, width))


def _lines(value: Value, width: int) -> Sequence[str]:
    flat = edn.write(value)
    if len(flat) <= width or flat in ("{}", "#{}", "()", "[]"):
        return [flat]
    match value:
        case values.EdnMap():
            return _bracketed("{", _entries(value, width - 1), "}")
        case values.EdnSet():
            return _bracketed("#{", _elements(sorted(value, key=values.sort_key), width - 2), "}")
        case values.EdnList():
            return _bracketed("(", _elements(value, width - 1), ")")
        case tuple():
            return _bracketed("[", _elements(value, width - 1), "]")
        case _:
            return [flat]


def _elements(elements: Sequence[Value], width: int) -> Iterator[str]:
    for element in elements:
        yield from _lines(element, width)


def _entries(entries: values.EdnMap, width: int) -> Iterator[str]:
    for key, value in entries.items():
        name = edn.write(key)
        first, *more = _lines(value, width - len(name) - 1)
        yield f"{name} {first}"
        yield from (" " * (len(name) + 1) + line for line in more)


def _bracketed(opener: str, lines: Iterator[str], closer: str) -> Sequence[str]:
    indent = " " * len(opener)
    done = [(indent if number else opener) + line for number, line in enumerate(lines)]
    done[-1] += closer
    return done
