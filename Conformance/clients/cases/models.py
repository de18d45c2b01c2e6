# SPDX-License-Identifier: Apache-2.0
"""Language models through their presets: questions are keyed by their content, and streams are kept when they are
whole."""

import concurrent.futures
import http.client
import http.server
import json
import socketserver
import threading
import time

from harness.case import case, expect, expect_equal, expect_hit


class Model:
    """Speaks like OpenAI's API and like Anthropic's. `cut` in a prompt breaks a stream off; with `fail` it fails."""

    def __init__(self, events=5, pause=0.0):
        self.asked = []
        self.events, self.pause = events, pause
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                question = json.loads(content)
                model.asked.append((self.path, question, dict(self.headers)))
                model.answer(self, question, content)

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True
            request_queue_size = 1024

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, handler, question, content):
        number = len(self.asked)
        if b"fail" in content:
            return self.whole(handler, 529, {"error": {"message": "overloaded", "type": "overloaded_error"}})
        if "messages" in question and "anthropic-version" in handler.headers:
            if question.get("stream"):
                return self.stream(handler, self.anthropic_events(number), b"cut" in content)
            return self.whole(handler, 200, {
                "id": f"msg_{number}", "type": "message", "role": "assistant", "model": question["model"],
                "content": [{"type": "text", "text": f"answer {number}"}], "stop_reason": "end_turn",
                "stop_sequence": None, "usage": {"input_tokens": 11, "output_tokens": 7}})
        if question.get("stream"):
            return self.stream(handler, self.openai_events(number), b"cut" in content)
        calls = [{"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}]
        return self.whole(handler, 200, {
            "id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1, "model": question["model"],
            "choices": [{"index": 0, "finish_reason": "tool_calls" if question.get("tools") else "stop",
                         "message": {"role": "assistant", "content": f"answer {number}",
                                     "tool_calls": calls if question.get("tools") else None}}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}})

    def openai_events(self, number):
        for index in range(self.events):
            piece = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1, "model": "demo-1",
                     "choices": [{"index": 0, "delta": {"content": f"w{index} "}, "finish_reason": None}]}
            yield f"data: {json.dumps(piece)}\n\n"
        yield ('data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"demo-1","choices":[],'
               '"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}\n\n')
        yield "data: [DONE]\n\n"

    def anthropic_events(self, number):
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "demo-2", "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 11, "output_tokens": 1}}
        events = [{"type": "message_start", "message": message},
                  {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}]
        events += [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": f"w{index} "}}
                   for index in range(self.events)]
        events += [{"type": "content_block_stop", "index": 0},
                   {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                    "usage": {"output_tokens": 7}},
                   {"type": "message_stop"}]
        for event in events:
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"

    def whole(self, handler, status, answer):
        content = json.dumps(answer).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(content)))
        handler.send_header("Set-Cookie", f"__cf_bm={len(self.asked)}; path=/")
        handler.end_headers()
        handler.wfile.write(content)

    def stream(self, handler, events, is_cut):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream; charset=utf-8")
        handler.send_header("Cache-Control", "no-cache, no-store")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for index, event in enumerate(events):
            if is_cut and index == 3:
                break
            handler.wfile.write(f"{len(event.encode()):x}\r\n{event}\r\n".encode())
            if self.pause:
                time.sleep(self.pause)
        # A stream that breaks off ends like any other: nothing but the missing last event tells.
        handler.wfile.write(b"0\r\n\r\n")


def served(context, model, name="larder"):
    return context.daemon(
        f"services:\n  openai:\n    preset: openai\n    baseURL: {model.url}/\n"
        "    prices: { demo: { input: 2.5, output: 10 } }\n"
        f"  anthropic: {{ preset: anthropic, baseURL: 'http://localhost:{model.server.server_address[1]}/' }}\n",
        name=name)


def post(daemon, question, path="/openai/v1/chat/completions", **fields):
    """One question: (status, fields, content)."""
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)
    try:
        content = question if isinstance(question, bytes) else json.dumps(question).encode()
        connection.request("POST", path, content, {
            "Content-Type": "application/json", "Authorization": "Bearer one",
            **{name.replace("_", "-"): value for name, value in fields.items()}})
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    finally:
        connection.close()


def question(text, **more):
    return {"model": "demo-1", "messages": [{"role": "user", "content": text}], **more}


@case("models", "questions to models: one key whatever the order of members, users apart, streams whole or not kept")
def models(context):
    model = Model(events=2_000)
    context.origins.append(model)
    daemon = served(context, model)

    first = post(daemon, b'{"model":"demo-1","messages":[{"role":"user","content":"hi"}],"temperature":0,"user":"a"}')
    expect_equal(first[0], 200, "the status")
    again = post(
        daemon, b'{"temperature": 0, "messages": [{"content": "hi", "role": "user"}], "model": "demo-1", "user": "b"}')
    expect_hit(again[1], "the same question in other words")
    expect_equal(again[2], first[2], "the answer")
    for other in (question("hi", temperature=1), question("hi", temperature=0, tools=[{"type": "function"}]),
                  question([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}])):
        expect("hit" not in post(daemon, other)[1]["cache-status"], "another question got the answer")
        expect_hit(post(daemon, other)[1], "the other question again")
    count = len(model.asked)
    post(daemon, question("hi", temperature=0), Authorization="Bearer two")
    expect_equal(len(model.asked), count + 1, "requests after another user's question")

    begun = post(daemon, question("stream", stream=True))
    replayed = post(daemon, question("stream", stream=True))
    expect_equal(begun[2].count(b"data: "), 2_002, "events")
    expect_hit(replayed[1], "the stream again")
    expect_equal(replayed[2], begun[2], "the octets of the stream")

    for text in ("cut", "fail"):
        count = len(model.asked)
        for _ in range(2):
            post(daemon, question(text, stream=True))
        expect_equal(len(model.asked), count + 2, f"requests for what is not kept ({text})")

    saved = {line["model"]: line for line in daemon.status()["savings"] if line["service"] == "openai"}
    expect(saved["demo-1"]["answers"] >= 5, "savings")
    expect_equal(saved["demo-1"]["inputTokens"], 100 * saved["demo-1"]["answers"], "tokens that were not read")
    money = (100 * 2.5 + 20 * 10) / 1_000_000 * saved["demo-1"]["answers"]
    expect(abs(saved["demo-1"]["money"] - money) < 1e-5, f"money saved: {saved['demo-1']['money']}, not {money}")


@case("models-crowd", "a thousand clients with one prompt: one request")
def crowd(context):
    model = Model(events=50, pause=0.02)
    context.origins.append(model)
    daemon = served(context, model)
    count = 1_000 if context.full else 300
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        answers = set(pool.map(lambda _: post(daemon, question("crowd", stream=True))[2], range(count)))
    expect_equal((len(answers), len(model.asked)), (1, 1), "different answers, and requests to the model")
    return f"{count} clients, 1 request"


@case("models-paced", "a stream that is replayed as it came: the same octets, and neither at once nor later")
def paced(context):
    model = Model(events=20, pause=0.05)
    context.origins.append(model)
    daemon = context.daemon(
        f"services:\n  openai:\n    preset: openai\n    baseURL: {model.url}/\n    configure: [{{ replay: paced }}]\n")
    said, times = [], []
    for _ in range(2):
        connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)
        connection.request("POST", "/openai/v1/chat/completions", json.dumps(question("paced", stream=True)), {
            "Content-Type": "application/json", "Authorization": "Bearer one"})
        response = connection.getresponse()
        begun, content, middle = time.monotonic(), b"", None
        while piece := response.read1(65_536):
            content += piece
            if middle is None and content.count(b"data: ") >= 10:
                middle = time.monotonic() - begun
        said.append(content)
        times.append((middle, time.monotonic() - begun))
        connection.close()
    expect_hit({name.lower(): value for name, value in response.getheaders()}, "the stream again")
    expect_equal(said[1], said[0], "the octets of the stream")
    expect_equal(len(model.asked), 1, "requests to the model")
    expect(0.3 <= times[1][0] < times[1][1] and 0.8 <= times[1][1] < 10,
           f"the replay took {times[1]}, the origin {times[0]}")
    return f"{times[0][1]:.2f} s, then {times[1][1]:.2f} s"


OPENAI = """
import sys
from openai import OpenAI
client = OpenAI(base_url=sys.argv[1], api_key="one", max_retries=0)
ask = [{"role": "user", "content": "sdk"}]
print(client.chat.completions.create(model="demo-1", messages=ask).choices[0].message.content)
print("".join(chunk.choices[0].delta.content for chunk in client.chat.completions.create(
    model="demo-1", messages=ask, stream=True) if chunk.choices))
"""
ANTHROPIC = """
import sys
from anthropic import Anthropic
client = Anthropic(base_url=sys.argv[1], api_key="one", max_retries=0)
ask = [{"role": "user", "content": "sdk"}]
print(client.messages.create(model="demo-2", max_tokens=9, messages=ask).content[0].text)
with client.messages.stream(model="demo-2", max_tokens=9, messages=ask) as stream:
    print("".join(stream.text_stream))
"""


def sdk(context, name, script, path):
    python, extra = context.python(name)
    model = Model(events=40)
    context.origins.append(model)
    daemon = served(context, model)
    said = [context.run([python, "-c", script, daemon.url + path],
                        environment=context.environment(**extra)).stdout for _ in range(2)]
    expect(b"w39" in said[0], f"the client did not get the stream: {said[0]}")
    expect_equal(said[1], said[0], "what the second run got")
    expect_equal(len(model.asked), 2, "requests to the model")
    return "requests to the origin: 2, then 0"


@case("preset-openai", "the openai SDK through the preset, with and without a stream")
def openai(context):
    return sdk(context, "openai", OPENAI, "/openai/v1")


@case("preset-anthropic", "the anthropic SDK through the preset, with and without a stream")
def anthropic(context):
    return sdk(context, "anthropic", ANTHROPIC, "/anthropic")
