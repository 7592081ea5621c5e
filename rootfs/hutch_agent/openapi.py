"""An endpoint as an OpenAPI 3.1 operation."""
import dataclasses
import typing

from .endpoint import NEVER, _list_of, _optional
from .request import AgentRequest, Record

WORDS = {str: "string", int: "integer", float: "number", bool: "boolean",
         dict: "object", list: "array"}


def schema(kind, depth=0):
    inner = _list_of(kind)
    if inner is not None:
        return {"type": "array", "items": schema(inner, depth + 1)}
    if kind in WORDS:
        return {"type": WORDS[kind]}
    if kind is AgentRequest:
        return {"$ref": "#/components/schemas/AgentRequest"}
    make = getattr(kind, "model_json_schema", None)
    if make is not None and not issubclass(kind, Record):
        made = make()
        return inline(made, made.pop("$defs", {}), depth)
    if dataclasses.is_dataclass(kind) and depth < 8:
        hints = typing.get_type_hints(kind)
        fields = dataclasses.fields(kind)
        needed = [f.name for f in fields
                  if f.default is dataclasses.MISSING and
                  f.default_factory is dataclasses.MISSING]
        made = {"type": "object", "title": kind.__name__, "properties": {
            f.name: schema(_optional(hints.get(f.name)), depth + 1)
            for f in fields}}
        if needed:
            made["required"] = needed
        return made
    return {}


def inline(value, defs, depth=0):
    """value without references, for which defs has what they refer to."""
    if depth > 20:
        return {}
    if isinstance(value, dict):
        ref = value.get("$ref")
        if isinstance(ref, str) and ref.rsplit("/", 1)[-1] in defs:
            return inline(defs[ref.rsplit("/", 1)[-1]], defs, depth + 4)
        return {k: inline(v, defs, depth + 1) for k, v in value.items()}
    if isinstance(value, list):
        return [inline(v, defs, depth + 1) for v in value]
    return value


def operation(endpoint):
    said = {"operationId": endpoint.name,
            "summary": endpoint.summary or
            endpoint.name.replace("_", " ").title(),
            "tags": endpoint.tags or ["custom"]}
    if endpoint.description:
        said["description"] = endpoint.description
    parameters, bodies = [], []
    for p in endpoint.parameters:
        if p.where in ("query", "path"):
            parameters.append({
                "name": p.name, "in": p.where,
                "required": p.where == "path" or p.default is NEVER,
                "schema": schema(p.kind) or {"type": "string"}})
        elif p.where == "body":
            bodies.append(p)
    if parameters:
        said["parameters"] = parameters
    if bodies:
        said["requestBody"] = _body(bodies)
    kind = "text/event-stream" if endpoint.streams and \
        endpoint.kind != "task" else "application/json"
    said["responses"] = {str(endpoint.status): {
        "description": "Successful Response", "content": {kind: {
            "schema": {"type": "string"} if "event" in kind else {}}}}}
    return said


def _body(bodies):
    if len(bodies) == 1 and bodies[0].whole:
        made = schema(bodies[0].kind) or {"type": "object"}
    else:
        made = {"type": "object", "properties": {
            p.name: schema(p.kind) for p in bodies},
            "required": [p.name for p in bodies if p.default is NEVER]}
    return {"required": any(p.default is NEVER for p in bodies),
            "content": {"application/json": {"schema": made}}}
