# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema for editors, as a validator of its own reads it: good configurations pass, bad ones do not."""

import json
import pathlib

from harness.case import Skipped, case, expect, expect_equal

ROOT = pathlib.Path(__file__).resolve().parents[3]
GOOD = [
    "", "cache:\n", "cache: { disk: 10 GiB, path: none }", "timeouts: { head: 500 ms, drain: 0 }", "offline: auto",
    "tunnels: { ports: 443 }", "listen: localhost:3128", "admin: { token: '${TOKEN}' }",
    "log: { access: true, accessFormat: squid }",
    "services: { api: { baseURL: 'https://a.test', privacy: partitioned, identity: [Authorization, {cookie: id}] } }",
    "services: { api: { baseURL: 'https://a.test', configure: [{ match: '/x/*', expirationTime: 10 min },"
    " { expirationTime: { 200: 1 h, default: 0 }, pipeline: { model: [{ jq: . }] }, afterWrite: none }] } }",
]
BAD = [
    "cahce: {}", "cache: { disk: 5 }", "timeouts: { head: 10 minuts }", "limits: { connections: 0 }", "threads: many",
    "services: { api: { mount: /x/ } }", "services: { UPPER: { baseURL: 'https://a.test' } }", "offline: maybe",
    "services: { api: { baseURL: 'https://a.test', configure: [{ mach: x }] } }", "log: { access: 3 }",
    "log: { level: loud }",
    "services: [api]", "listen: { port: 1 }",
]


@case("schema", "good configurations are valid by it, bad ones are not, and larder says the same of them")
def schema(context):
    try:
        import jsonschema
        import yaml
    except ImportError as missing:
        raise Skipped(f"Python has no {missing.name}") from missing
    text = context.run([context.program, "settings", "--json-schema"]).stdout
    expect_equal(json.loads(text), json.loads((ROOT / "etc/larder.schema.json").read_text()), "etc/larder.schema.json")
    validator = jsonschema.Draft202012Validator(json.loads(text))
    validator.check_schema(validator.schema)

    def problems(text):
        found = validator.iter_errors(yaml.safe_load(text) or {})
        return [f"{list(problem.path)}: {problem.message[:200]}" for problem in found]

    files = [ROOT / "etc" / "larder.yaml", *sorted((ROOT / "etc" / "examples").glob("*.yaml"))]
    for file in files:
        if file.name != "prometheus.yaml":
            expect_equal(problems(file.read_text()), [], f"what is wrong with {file.name}")
    for text, is_good in [(text, True) for text in GOOD] + [(text, False) for text in BAD]:
        expect_equal(problems(text) == [], is_good, f"whether {text!r} is valid: {problems(text)}")
        file = context.directory / "larder.yaml"
        file.write_text(text)
        surroundings = context.environment(TOKEN="x")
        checked = context.run([context.program, "check", file], check=False, environment=surroundings)
        expect_equal(checked.returncode == 0, is_good, f"whether larder takes {text!r}: {checked.stderr.decode()}")
