"""The worksheet as JSON: the tables field by field.

Places are those of `json_places`. Threads are
`{"threads": ..., "role": ...}`, with the number of their row of the Roles table or null; what is
not known is null.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tirx_lens.model.span import Span
from tirx_lens.protocol.worksheet.cells import Who
from tirx_lens.report.json_places import place_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tirx_lens.protocol.worksheet.sheet import KernelSheet
    from tirx_lens.report.worksheet_places import Sheets


def as_json(sheets: Sheets) -> str:
    """Return the worksheets of a file as one JSON object."""
    return json.dumps(as_value(sheets), indent=2, ensure_ascii=False)


def as_value(sheets: Sheets) -> dict[str, object]:
    """Return the worksheets of a file as plain values."""
    return {
        "filename": str(sheets.path),
        "has_syntax_errors": sheets.worksheet.has_errors,
        "kernels": [_Encoder(sheets, sheet).kernel() for sheet in sheets.worksheet.kernels],
    }


class _Encoder:
    """Turns the rows of one kernel into plain values."""

    def __init__(self, sheets: Sheets, sheet: KernelSheet) -> None:
        self._sheets = sheets
        self._sheet = sheet
        self._roles: Mapping[Who, int] = {row.who: n for n, row in enumerate(sheet.roles, 1)}

    def kernel(self) -> dict[str, object]:
        return {
            field.name: self._value(getattr(self._sheet, field.name))
            for field in fields(self._sheet)
        }

    def _value(self, value: object) -> object:
        if isinstance(value, Who):
            return {"threads": value.text, "role": self._roles.get(value)}
        if isinstance(value, Span):
            return self._place(value)
        if isinstance(value, Enum):
            return value.value
        if isinstance(value, (tuple, list)):
            return [self._value(item) for item in value]
        if is_dataclass(value):
            return {field.name: self._value(getattr(value, field.name)) for field in fields(value)}
        return value

    def _place(self, span: Span) -> dict[str, object]:
        return place_in(*self._sheets.holder_of(span))
