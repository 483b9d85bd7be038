"""Where a value breaks a JSON schema, tolerant of the schemas that traces really hold.

A strict validator is the wrong tool here: recorded schemas are cut, mix dialects (`"type": "any"`, `"STRING"`,
`nullable`, a bare table of parameters, `required: true` beside a type) and come from untrusted files (remote
`$ref`, slow patterns). Only those rules are applied that a model can be blamed for: names, what is required, types, and
the values of `enum` and `const`. Bounds (`minimum`, `maxLength`, ...), `pattern` and `format` are not: what breaks them
the tool says better, if it minds. Whatever is not understood allows everything, so a broken schema is never the agent's
fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

Kind = Literal["unknown", "unnamed", "missing", "type", "enum"]

_MAX_DEPTH = 40
_STRUCTURE = ("properties", "$ref", "anyOf", "oneOf", "allOf", "additionalProperties", "$schema", "required")
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
    "null": (type(None),),
}
_ALIASES = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
    "none": "null",
}
_OPTIONAL = frozenset({"nullable", "default", "optional"})


class Violation(NamedTuple):
    """One way in which arguments break the schema."""

    kind: Kind
    path: str
    """Name of the argument, dotted for nested ones."""
    problem: str
    closed: bool = True
    """For `unknown`: whether the schema itself forbids other names, rather than only not listing this one."""


def violations(schema: dict[str, Any], arguments: dict[str, Any], *, partial: bool = False) -> Iterator[Violation]:
    """Every violation of a tool's parameter schema; with `partial`, absent arguments are not missed."""
    table = _parameters(schema)
    if table is None:
        return
    for found in _check(table, arguments, table, "", 0):
        if not (partial and found.kind == "missing"):
            yield found


def _parameters(schema: dict[str, Any]) -> dict[str, Any] | None:
    """A JSON schema of the arguments: the schema itself, or one made of a bare table of parameters."""
    if isinstance(inner := schema.get("json"), dict) and len(schema) == 1:  # Bedrock: {"json": {...}}
        schema = inner
    if not schema:
        return None
    # `type` may be the name of a parameter: then its value is a schema, not a name.
    if isinstance(schema.get("type"), str | list) or any(key in schema for key in _STRUCTURE):
        return schema
    if all(isinstance(value, dict) for value in schema.values()):
        required = [
            name
            for name, value in schema.items()
            if not _OPTIONAL & value.keys() and value.get("required") is not False
        ]
        return {"type": "object", "properties": schema, "required": required}
    return None


def _check(schema: Any, value: Any, root: dict[str, Any], path: str, depth: int) -> Iterator[Violation]:
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return
    if isinstance(ref := schema.get("$ref"), str):
        yield from _check(_resolve(ref, root), value, root, path, depth + 1)
        return
    if value is None and (schema.get("nullable") or schema.get("optional")):
        return
    types = _types(schema.get("type"))
    if types and not _is(value, types):
        yield Violation("type", path, f"{path or 'the arguments'}: expected {' or '.join(types)}, got {_name(value)}")
        return
    allowed = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(allowed, list) and allowed and not _among(value, allowed):
        shown = ", ".join(map(repr, allowed[:8])) + (", ..." if len(allowed) > 8 else "")
        yield Violation("enum", path, f"{path}: {_short(value)} is not one of {shown}")
    for part in _schemas(schema.get("allOf")):
        yield from _check(part, value, root, path, depth + 1)
    alternatives = _schemas(schema.get("anyOf")) or _schemas(schema.get("oneOf"))
    if alternatives:
        faults = [list(_check(alternative, value, root, path, depth + 1)) for alternative in alternatives]
        if all(faults):
            telling = [fault for fault in faults if fault[0].kind != "type" or fault[0].path != path]
            if len(telling) == 1:
                yield from telling[0]
            else:
                yield Violation(
                    "type", path, f"{path}: {_short(value)} fits none of the {len(alternatives)} forms allowed"
                )
    if isinstance(value, dict):
        yield from _object(schema, value, root, path, depth)
    elif isinstance(value, list) and isinstance(items := schema.get("items"), dict):
        for index, item in enumerate(value[:100]):
            yield from _check(items, item, root, f"{path}[{index}]", depth + 1)


def _object(
    schema: dict[str, Any], value: dict[str, Any], root: dict[str, Any], path: str, depth: int
) -> Iterator[Violation]:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        properties = {}
    prefix = f"{path}." if path else ""
    required = schema.get("required")
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    names += [n for n, s in properties.items() if isinstance(s, dict) and s.get("required") is True and n not in names]
    for name in names:
        # Strict modes list every name as required and say `null` or a default for what may be left out.
        if name not in value and not (
            isinstance(s := properties.get(name), dict) and ("default" in s or s.get("nullable"))
        ):
            yield Violation("missing", prefix + name, f"{prefix}{name}: required, not given")
    extra = schema.get("additionalProperties")
    composed = any(key in schema for key in ("anyOf", "oneOf", "allOf", "patternProperties", "$ref", "if"))
    for name, item in value.items():
        if name in properties:
            if item is None and name not in names:
                continue  # null for an optional argument is how many models leave it out
            yield from _check(properties[name], item, root, f"{prefix}{name}", depth + 1)
        elif isinstance(extra, dict):
            yield from _check(extra, item, root, f"{prefix}{name}", depth + 1)
        elif extra is not True and not composed and (extra is False or "properties" in schema):
            known = ", ".join(list(properties)[:12]) or "none"
            if name:
                problem = f"{prefix}{name}: no such argument (known: {known})"
                yield Violation("unknown", prefix + str(name), problem, closed=extra is False)
            else:
                yield Violation("unnamed", path, f"an argument without a name (known: {known})")


def _resolve(ref: str, root: dict[str, Any]) -> Any:
    """What a reference inside the same schema points at, else None: nothing is ever fetched."""
    if not ref.startswith("#"):
        return None
    node: Any = root
    for part in ref[1:].strip("/").split("/") if ref != "#" else ():
        if not isinstance(node, dict):
            return None
        node = node.get(part.replace("~1", "/").replace("~0", "~"))
    return node


def _types(declared: Any) -> tuple[str, ...]:
    """The JSON types a schema names, () when it names none or one that is not JSON's."""
    names = [declared] if isinstance(declared, str) else declared if isinstance(declared, list) else []
    found: list[str] = []
    for name in names:
        lowered = name.lower() if isinstance(name, str) else ""
        lowered = _ALIASES.get(lowered, lowered)
        if lowered not in _TYPES:
            return ()
        found.append(lowered)
    return tuple(found)


def _is(value: Any, types: tuple[str, ...]) -> bool:
    for name in types:
        if isinstance(value, bool):
            if name == "boolean":
                return True
        elif isinstance(value, _TYPES[name]) or (name == "integer" and isinstance(value, float) and value.is_integer()):
            return True
    return False


def _among(value: Any, allowed: list[Any]) -> bool:
    """Whether the value is listed; OpenAPI lists numbers as text (`enum: ["1", "2"]`)."""
    return value in allowed or str(value) in {item for item in allowed if isinstance(item, str)}


def _schemas(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _name(value: Any) -> str:
    kind = next(
        (name for name in ("boolean", "null", "string", "integer", "number", "array", "object") if _is(value, (name,))),
        "",
    )
    return f"{kind or type(value).__name__} {_short(value)}"


def _short(value: Any) -> str:
    if isinstance(value, dict | list):
        return f"({len(value)} items)"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
