# SPDX-License-Identifier: Apache-2.0
"""Forms of one resource: codings, parts, and answers to content."""

import gzip
import json
import pathlib

from cases.curl import curl
from harness.case import case, expect, expect_equal, expect_hit, expect_in
from harness.origin import Answer, fresh

WORDS = json.dumps({"words": ["apples and pears"] * 2000}).encode()


def configured(origin, lines):
    return f"services:\n  api:\n    baseURL: {origin.url}\n    configure:\n      - {lines}\n"


@case("forms", "curl --compressed and plain curl share one stored response, each in a coding of its own")
def compressed(context):
    origin = context.origin({"/words": fresh(WORDS, "application/json", ETag='"w"', Vary="Accept-Encoding")})
    daemon = context.daemon(configured(origin, "codings: [zstd, br, gzip]"))
    target = f"{daemon.url}/api/words"
    tags = {}
    for arguments in ([], ["--compressed"], ["-H", "Accept-Encoding: gzip"], ["-H", "Accept-Encoding: br"], []):
        status, fields, content = curl(context, *arguments, target)
        coding = fields.get("content-encoding", "identity")
        expect_equal(status, 200, "status")
        if "--compressed" not in arguments:
            expect_equal(fields["content-length"], str(len(content)), f"Content-Length in {coding}")
        if coding == "gzip" and "--compressed" not in arguments:
            content = gzip.decompress(content)
        if coding != "br" or "--compressed" in arguments:
            expect_equal(content, WORDS, f"content in {coding}")
        tags[coding] = fields["etag"]
        expect_in("Accept-Encoding", fields["vary"], f"Vary in {coding}")
    expect_equal(len(origin.asked), 1, "requests at the origin")
    expect_equal(len(set(tags.values())), len(tags), f"tags of {sorted(tags)}")
    expect(len(tags) >= 3, f"codings were {sorted(tags)}")
    for coding, tag in tags.items():
        status, fields, _ = curl(
            context, "-H", f"Accept-Encoding: {coding}", "-H", f"If-None-Match: {tag}", target)
        expect_equal((status, fields["etag"]), (304, tag), f"validated in {coding}")


@case("forms", "curl --compressed undoes what is stored plain, and plain curl gets undone what is stored in gzip")
def undone(context):
    packed = gzip.compress(WORDS)
    answer = fresh(packed, "application/json", ETag='"w"', Vary="Accept-Encoding", Content_Encoding="gzip")
    origin = context.origin({"/words": answer})
    daemon = context.daemon(configured(origin, "codings: [gzip]"))
    target = f"{daemon.url}/api/words"
    _, fields, content = curl(context, "-H", "Accept-Encoding: gzip", target)
    expect_equal((fields.get("content-encoding"), content), ("gzip", packed), "as it came")
    _, fields, content = curl(context, target)
    expect_equal((fields.get("content-encoding"), content), (None, WORDS), "undone")
    expect_hit(fields, "undone")
    expect_in("detail=decoded", fields["cache-status"], "Cache-Status")
    _, _, content = curl(context, "--compressed", target)
    expect_equal(content, WORDS, "undone by curl")
    expect_equal(len(origin.asked), 1, "requests at the origin")


@case("forms", "curl -C - resumes a download that broke off; the octets before the break are not asked for again")
def resumed(context):
    content = bytes(range(256)) * 400
    cut = 40_000
    ranges = []

    def script(wire):
        while True:
            _, fields = wire.head()
            wanted = fields.get("range")
            ranges.append(wanted)
            head = 'Cache-Control: max-age=600\r\nETag: "f"\r\nAccept-Ranges: bytes\r\n'
            if wanted is None:
                wire.send(f"HTTP/1.1 200 OK\r\nContent-Length: {len(content)}\r\n{head}\r\n")
                wire.send(content[:cut])
                return
            first = int(wanted.removeprefix("bytes=").split("-")[0])
            last = int(wanted.split("-")[1] or len(content) - 1)
            wire.send(
                f"HTTP/1.1 206 Partial Content\r\nContent-Length: {last + 1 - first}\r\n"
                f"Content-Range: bytes {first}-{last}/{len(content)}\r\n{head}\r\n")
            wire.send(content[first:last + 1])

    origin = context.raw_origin(script)
    daemon = context.daemon()
    file = pathlib.Path(context.directory) / "file"
    command = [
        context.command("curl"), "-sS", "--noproxy", "", "--max-time", "20", "-x", daemon.url, "-o", file,
        f"{origin.url}/file",
    ]
    broken = context.run(command, check=False)
    expect(broken.returncode != 0, "curl took a part for the whole")
    expect(content.startswith(file.read_bytes()), "what came before the break is something else")
    # Another client wants some of what is held already.
    status, fields, part = curl(context, "-r", "100-199", "-x", daemon.url, f"{origin.url}/file")
    expect_equal((status, part), (206, content[100:200]), "a range of the part")
    expect_hit(fields, "a range of the part")
    context.run(command[:1] + ["-C", "-"] + command[1:])
    expect_equal(file.read_bytes(), content, "the whole file")
    for arguments, wanted in ((["-r", "39990-40009"], content[39990:40010]), (["-r", "-5"], content[-5:])):
        status, fields, part = curl(context, *arguments, "-x", daemon.url, f"{origin.url}/file")
        expect_equal((status, part), (206, wanted), f"curl {' '.join(arguments)}")
        expect_hit(fields, f"curl {' '.join(arguments)}")
    status, fields, whole = curl(context, "-x", daemon.url, f"{origin.url}/file")
    expect_equal((status, whole), (200, content), "the whole, put together")
    expect_hit(fields, "the whole")
    expect_equal(ranges, [None, f"bytes={cut}-"], "ranges at the origin")


@case("forms", "GraphQL by POST, and QUERY, are answered from what is stored for the same content")
def keyed_by_content(context):
    answers = []

    def script(wire):
        while True:
            line, fields = wire.head()
            asked = wire.exactly(int(fields.get("content-length", 0))).decode()
            answers.append((line.split()[0], asked))
            content = json.dumps({"data": {"number": len(answers)}}).encode()
            wire.send(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nCache-Control: max-age=600\r\n"
                f"Content-Length: {len(content)}\r\n\r\n")
            wire.send(content)

    origin = context.raw_origin(script)
    daemon = context.daemon(configured(origin, "{ match: /graphql, keyedByContent: true }"))
    target = f"{daemon.url}/api/graphql"

    def ask(content, method="POST"):
        status, fields, answer = curl(
            context, "-X", method, "-H", "Content-Type: application/json", "--data-binary", content, target)
        expect_equal(status, 200, f"{method} {content}")
        return json.loads(answer)["data"]["number"], fields

    first, _ = ask('{"query":"{ user(id: 1) { name } }","variables":{"a":1,"b":2}}')
    again, fields = ask('{ "variables": {"b": 2, "a": 1}, "query": "{ user(id: 1) { name } }" }')
    expect_equal(again, first, "the same question, written otherwise")
    expect_hit(fields, "the same question")
    expect(ask('{"query":"{ user(id: 2) { name } }"}')[0] != first, "another question got the same answer")
    queried, _ = ask('{"where":"here"}', "QUERY")
    repeated, fields = ask('{"where":"here"}', "QUERY")
    expect_equal(repeated, queried, "QUERY again")
    expect_hit(fields, "QUERY again")
    mutation = '{"query":"mutation { rename(id: 1) { name } }"}'
    ask(mutation)
    ask(mutation)
    changed, fields = ask('{"query":"{ user(id: 1) { name } }","variables":{"a":1,"b":2}}')
    expect(changed > queried, "what a mutation may have changed was answered from before it")
    expect_equal([content for _, content in answers].count(mutation), 2, "mutations at the origin")
