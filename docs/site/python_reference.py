"""Writes docs/reference/python.md from the docstrings and signatures of the Python library.

python docs/site/python_reference.py
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import adalog
from adalog import edn, testing
from adalog.client import result

PAGE: Final = Path(__file__).resolve().parents[1] / "reference" / "python.md"
_ABOVE: Final = """\
<!-- Made by `python docs/site/python_reference.py` from the docstrings of clients/python. -->

# Python: all calls

[Python](../how-to/python.md) introduces the library by examples. A `Connection` has all calls of
`CurrentDatabase`, and these have those of `Database`. `aconnect` gives an `AsyncConnection`: its calls have the
same names and are awaited.
"""
# What a reader meets, in this order.
_PUBLIC: Final = (
    adalog.connect,
    adalog.aconnect,
    adalog.Connection,
    adalog.CurrentDatabase,
    adalog.Database,
    adalog.Result,
    adalog.Error,
    adalog.QueryWarning,
)
_RETURNED: Final = (
    result.TxReport,
    result.Change,
    result.ImportReport,
    result.ExportReport,
    result.Explanation,
    result.Reason,
    result.PulledMap,
    result.ResultList,
    result.Attribute,
    result.Datom,
    result.Column,
    result.ResultWarning,
)
_VALUES: Final = (adalog.Keyword, adalog.Symbol, adalog.Duration)


def page() -> str:
    """The text of the page."""
    parts = [_ABOVE]
    for heading, items in (("Calls", _PUBLIC), ("What calls return", _RETURNED), ("Values", _VALUES)):
        parts.append(f"## {heading}\n")
        for item in items:
            parts += _described(item)
    for module in (edn, testing):
        parts.append(f"## {module.__name__}\n")
        for item in _members(module):
            parts += _described(item)
    return "\n".join(parts)


def _members(module: ModuleType) -> Iterator[Any]:
    for name, item in sorted(vars(module).items()):
        own = getattr(item, "__module__", "") in ("adalog.client.edn", "adalog.client.testing")
        if own and not name.startswith("_") and (inspect.isroutine(item) or inspect.isclass(item)):
            yield item


def _described(item: Any) -> Iterator[str]:
    name = item.__name__
    yield f"### {name}\n"
    if not inspect.isclass(item):
        yield from (_code(f"{name}{inspect.signature(item)}"), _text(item))
        return
    yield _text(item)
    fields = _fields(item)
    if fields:
        rows = [f"| `{field}` | `{_type(kind).replace(' | ', ' or ')}` |" for field, kind in fields.items()]
        yield "\n".join(["| field | type |", "| --- | --- |", *rows]) + "\n"
    for attribute, member in vars(item).items():
        if attribute.startswith("_") or not inspect.getdoc(member):
            continue
        if isinstance(member, property):
            yield f"#### {name}.{attribute}\n"
            yield _text(member)
        elif inspect.isfunction(member):
            yield f"#### {name}.{attribute}\n"
            yield _code(f"{attribute}{inspect.signature(member)}".replace("(self, ", "(").replace("(self)", "()"))
            yield _text(member)


def _fields(item: type[Any]) -> dict[str, object]:
    """The fields of a dataclass or a named tuple, with their types."""
    if dataclasses.is_dataclass(item):
        return {field.name: field.type for field in dataclasses.fields(item)}
    return inspect.get_annotations(item) if hasattr(item, "_fields") else {}


def _code(signature: str) -> str:
    """A signature, in lines of its parameters if it is long."""
    signature = _type(signature)
    if len(signature) > 100:
        head, _, rest = signature.partition("(")
        inside, _, returns = rest.rpartition(")")
        parameters = re.split(r", (?![^\[(]*[\])])", inside)
        signature = f"{head}(\n" + "".join(f"    {each},\n" for each in parameters) + f"){returns}"
    return f"```python\n{signature}\n```\n"


def _type(text: object) -> str:
    return str(getattr(text, "__forward_arg__", text)).replace("'", "")


def _text(item: Any) -> str:
    """A docstring, with its examples as blocks."""
    text = inspect.getdoc(item) or ""
    parts = []
    for paragraph in re.split(r"\n\n(?=\S|>>>|    )", text):
        if paragraph.startswith(">>>"):
            parts.append(f"```pycon\n{paragraph}\n```")
        elif paragraph.startswith("    "):
            parts.append(f"```python\n{textwrap.dedent(paragraph)}\n```")
        else:
            parts.append(paragraph)
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
