# SPDX-License-Identifier: Apache-2.0
"""HTTP Archive 1.2 as a JSON schema, and as much of a validator as it needs."""

import re


def _object(required, optional=None, **more):
    # Names of others begin with an underscore, says the format; nothing else may be there.
    return {
        "type": "object", "required": list(required), "properties": {**required, **(optional or {})},
        "patternProperties": {"^_": {}}, "additionalProperties": False, **more}


TEXT = {"type": "string"}
COUNT = {"type": "integer", "minimum": -1}
TIME = {"type": "number", "minimum": -1}
PAIR = _object({"name": TEXT, "value": TEXT}, {"comment": TEXT})
PAIRS = {"type": "array", "items": PAIR}
COOKIES = {"type": "array", "items": _object({"name": TEXT, "value": TEXT}, {
    "path": TEXT, "domain": TEXT, "expires": TEXT, "httpOnly": {"type": "boolean"}, "secure": {"type": "boolean"},
    "comment": TEXT})}
TOOL = _object({"name": TEXT, "version": TEXT}, {"comment": TEXT})
MESSAGE = {"httpVersion": TEXT, "cookies": COOKIES, "headers": PAIRS, "headersSize": COUNT, "bodySize": COUNT}

SCHEMA = _object({"log": _object({
    "version": {"type": "string", "enum": ["1.2"]},
    "creator": TOOL,
    "entries": {"type": "array", "items": _object({
        "startedDateTime": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"},
        "time": {"type": "number", "minimum": 0},
        "request": _object({"method": TEXT, "url": {"type": "string", "pattern": "^https?://"}, "queryString": PAIRS,
                            **MESSAGE}, {
            "postData": _object({"mimeType": TEXT, "text": TEXT}, {"params": {"type": "array"}, "comment": TEXT}),
            "comment": TEXT}),
        "response": _object({
            "status": {"type": "integer", "minimum": 100}, "statusText": TEXT, "redirectURL": TEXT,
            "content": _object({"size": COUNT, "mimeType": TEXT}, {
                "compression": COUNT, "text": TEXT, "encoding": TEXT, "comment": TEXT}),
            **MESSAGE}, {"comment": TEXT}),
        "cache": {"type": "object"},
        "timings": _object({"send": TIME, "wait": TIME, "receive": TIME}, {
            "blocked": TIME, "dns": TIME, "connect": TIME, "ssl": TIME, "comment": TEXT}),
    }, {"pageref": TEXT, "serverIPAddress": TEXT, "connection": TEXT, "comment": TEXT})},
}, {"browser": TOOL, "pages": {"type": "array"}, "comment": TEXT})})

KINDS = {
    "object": lambda value: isinstance(value, dict), "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str), "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
}


def problems(value, schema, place="archive"):
    """The places where `value` is not as `schema` says; it knows the words that the schema above uses."""
    kind = schema.get("type")
    if kind and not KINDS[kind](value):
        return [f"{place} is no {kind}"]
    found = []
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{place} is {value!r}")
    if "minimum" in schema and value < schema["minimum"]:
        found.append(f"{place} is less than {schema['minimum']}")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        found.append(f"{place} is {value!r}")
    found += [f"{place}.{name} is missing" for name in schema.get("required", []) if name not in value]
    if isinstance(value, dict):
        known = schema.get("properties", {})
        free = list(schema.get("patternProperties", {}))
        for name, member in value.items():
            if name in known:
                found += problems(member, known[name], f"{place}.{name}")
            elif schema.get("additionalProperties") is False and not any(re.search(text, name) for text in free):
                found.append(f"{place}.{name} is unknown")
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            found += problems(item, schema["items"], f"{place}[{index}]")
    return found
