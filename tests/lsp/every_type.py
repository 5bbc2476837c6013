"""Prints what each class of the protocol is and does, and what is said of JSON it cannot be.

`every_type.py as-served` takes the classes and the converter of the server, `as-published` those
of lsprotocol and pygls.
"""

from __future__ import annotations

import collections.abc
import enum
import inspect
import json
import sys
import typing

import attrs

AS_SERVED = sys.argv[1] == "as-served"
if AS_SERVED:
    from tirx_lens.lsp.protocol_types import load_protocol_types

    load_protocol_types()

from lsprotocol import types  # noqa: E402
from pygls.protocol import default_converter  # noqa: E402

from tirx_lens.lsp.protocol import converter, reason_of  # noqa: E402

DEPTH = 3


def sample(kind: typing.Any, choice: int, depth: int) -> typing.Any:
    """Return JSON for a type; `choice` picks among the members of unions and enums."""
    origin, members = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Union:
        given = [one for one in members if one is not type(None)]
        return sample(given[choice % len(given)], choice, depth)
    if origin is typing.Literal:
        return members[choice % len(members)]
    if origin in (list, collections.abc.Sequence):
        return [sample(members[0], choice + more, depth) for more in range(2)]
    if origin is tuple:
        return [sample(one, choice, depth) for one in members]
    if origin in (dict, collections.abc.Mapping):
        return {str(sample(members[0], choice, depth)): sample(members[1], choice, depth)}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return list(kind)[choice % len(kind)].value
    if isinstance(kind, type) and attrs.has(kind):
        return json_of(kind, choice, depth - 1)
    simple = {str: "text", int: choice, float: 0.5, bool: True}
    return simple.get(kind, {"any": [1, "thing"]})


def json_of(kind: type, choice: int, depth: int) -> dict[str, typing.Any]:
    """Return JSON for a class; fields that may be left out are, below some depth."""
    found = {}
    for field in attrs.fields(kind):
        if depth > 0 or field.default is attrs.NOTHING:
            first, *rest = field.name.rstrip("_").split("_")
            name = first + "".join(word.title() for word in rest)
            found[name] = "2.0" if name == "jsonrpc" else sample(field.type, choice, depth)
    return found


def said(kind: type, data: dict[str, typing.Any]) -> str:
    """Return what becomes of JSON on its way to an object and back, errors included."""
    try:
        made = CONVERTER.structure(data, kind)
        again = CONVERTER.structure(json.loads(json.dumps(data)), kind)
        back = json.dumps(CONVERTER.unstructure(made))
        return f"{made} {back} equal={made == again} {made != again}"
    except Exception as error:
        return reason_of(error)


CONVERTER = converter() if AS_SERVED else default_converter()
classes = [kind for kind in types.ALL_TYPES_MAP.values() if isinstance(kind, type)]
for kind in sorted(filter(attrs.has, classes), key=lambda kind: kind.__name__):
    print(kind.__module__, kind.__qualname__, repr(kind.__doc__), kind.__hash__)
    parameters = inspect.signature(kind).parameters.values()
    print(" ", [(one.name, one.kind, one.default) for one in parameters], kind.__match_args__)
    for field in attrs.fields(kind):
        print(" ", field)
    for choice in range(4):
        print(" ", said(kind, json_of(kind, choice, DEPTH)))
    print(" ", said(kind, {}), "|", said(kind, typing.cast("typing.Any", 3)))
for method, kinds in sorted(types.METHOD_TO_TYPES.items()):
    for kind in kinds:
        if isinstance(kind, type) and attrs.has(kind):
            print(method, [said(kind, json_of(kind, choice, DEPTH)) for choice in range(2)])
