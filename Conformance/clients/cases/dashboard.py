# SPDX-License-Identifier: Apache-2.0
"""The dashboard in a real browser: what it shows, does and looks like.

With --full, pictures of it go to docs/pictures.
"""

import base64
import http.client
import json
import pathlib
import socket
import threading
import time

from cases.pages import browser
from harness.case import case, expect, expect_equal, expect_in
from harness.origin import Answer, fresh

TOKEN = "of-the-operator"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC")
PICTURES = pathlib.Path(__file__).resolve().parents[3] / "docs" / "pictures"
SIZES = {"phone": (390, 844), "desk": (1280, 900), "wall": (3840, 2160)}


def setting(context, pause=0.0):
    """A daemon with two services and origins of all kinds, and a few requests that came to different ends."""

    def answer(path):
        time.sleep(pause * (1 + len(path) % 5))
        if path.startswith("/v1/users/"):
            return fresh(json.dumps({"login": path.split("/")[-1], "followers": 20000}), "application/json")
        return {
            "/v1/notes.txt": fresh("first line\nsecond line\n"), "/v1/logo.png": fresh(PIXEL, "image/png"),
            "/v1/now": Answer(b"12:00\n", 200, {"Cache-Control": "no-store", "Content-Type": "text/plain"}),
            "/v1/broken": Answer(b"out of order\n", 503, {"Content-Type": "text/plain"}),
        }.get(path, Answer(b"{}", 404, {"Content-Type": "application/json"}))

    origin = context.origin({None: answer})
    stock = context.origin({None: lambda path: fresh(json.dumps({"item": path, "in stock": 7}), "application/json")})
    daemon = context.daemon(f"""
admin:
  socket: {context.directory / "larder-state" / "larder.sock"}
  token: {TOKEN}
services:
  github: {{ baseURL: "{origin.url}/v1/" }}
  inventory: {{ baseURL: "{stock.url}" }}
""".replace("admin:\n  socket", "# admin:\n#  socket").replace(f"  token: {TOKEN}\n", ""),
                            sets={"admin.token": TOKEN})
    return origin, stock, daemon


def some_requests(daemon, origin):
    for path in ["/github/users/octocat"] * 4 + ["/github/users/hubot", "/github/notes.txt", "/github/logo.png"]:
        daemon.get(path)
    for path in ["/github/now"] * 3 + ["/github/broken", "/github/missing", "/inventory/shelf/7", "/inventory/shelf/7"]:
        daemon.get(path)
    daemon.get(f"/http/{origin.authority}/v1/users/elsewhere")


def tunnel(daemon, origin):
    """Something that passes unseen."""
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=10) as client:
        client.sendall(f"CONNECT 127.0.0.1:{origin.port} HTTP/1.1\r\nHost: 127.0.0.1:{origin.port}\r\n\r\n".encode())
        client.recv(1000)
        client.sendall(b"GET /v1/now HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        while client.recv(1000):
            pass


def answer_questions(page, answer):
    page.value(f"window.asked = 0; window.confirm = () => {{ window.asked += 1; return {answer}; }}; 1")


def opened(context, daemon, width=1280, height=900, scheme="light"):
    page = browser(context, "about:blank")
    page.watch()
    page.size(width, height)
    page.prefer(scheme)
    page.open(f"http://localhost:{daemon.port}/")
    expect(page.wait_until("document.getElementById('version').textContent !== ''"), "the page shows no figures")
    expect_in("as they happen", page.document("as they happen"), "the page hears of what happens")
    return page


def text(page, name):
    return (page.value(f"document.getElementById({json.dumps(name)}).textContent") or "").replace("\u2009", "").replace(
        "\u00a0", " ")


def cells(page, table):
    rows = page.value(f"[...document.querySelectorAll('#{table} tbody tr')].map(row => [...row.cells].map("
                      "cell => cell.textContent))")
    return [[cell.replace("\u2009", "").replace("\u00a0", " ") for cell in row] for row in rows]


def expect_quiet(page, daemon):
    """No message, no error, and nothing asked for elsewhere."""
    messages = [told.get("args") for told in page.told("Runtime.consoleAPICalled")]
    messages += [told["exceptionDetails"].get("exception", {}).get("description", told["exceptionDetails"]["text"])
                 for told in page.told("Runtime.exceptionThrown")]
    messages += [told["entry"]["text"] + " " + told["entry"].get("url", "") for told in page.told("Log.entryAdded")]
    expect_equal(messages, [], "messages in the console")
    asked = [told["request"]["url"] for told in page.told("Network.requestWillBeSent")]
    own = f"http://localhost:{daemon.port}/"
    elsewhere = [url for url in asked if not url.startswith((own, "about:"))]
    expect_equal(elsewhere, [], "requests to others")
    expect(any("/-/status" in url for url in asked), "no request was seen at all")


@case("dashboard", "what it shows is what the status says")
def shown(context):
    origin, _, daemon = setting(context)
    some_requests(daemon, origin)
    tunnel(daemon, origin)
    page = opened(context, daemon)
    status = daemon.status()
    requests = status["requests"]
    served = requests["hit"] + requests["stale"] + requests["validated"] + requests["collapsed"]
    expect(page.wait_until("document.querySelectorAll('#requests tbody button').length > 5"), "no requests are listed")
    expect_equal([text(page, "version"), text(page, "state")], [status["version"], "serving"], "version and state")
    expect_equal(text(page, "hit-ratio"), f"{status['hitRatio'] * 100:.0f} %", "hit ratio")
    counted = f"{served} of {served + requests['miss'] + requests['error']} hits, misses and errors since the start"
    expect_equal(text(page, "hit-note"), counted, "hits")
    expect_in(f"{sum(requests.values()) - requests['own']} in all", text(page, "rate-note"), "requests")
    expect_equal(text(page, "saved").split(" ")[0], str(status["bytes"]["saved"]), "octets saved")
    outcomes = text(page, "outcomes")
    for name in ("hit", "miss", "error", "tunnel"):
        expect_in(f"{name} {requests[name]}", outcomes, "outcomes")
    services = {row[0].split("http")[0]: row for row in cells(page, "services")}
    for service in status["services"]:
        row = services[service["name"]]
        counted = sum(number for name, number in service["requests"].items() if name != "aborted")
        expect_equal(row[2:4], [f"{service['hitRatio'] * 100:.0f} %", str(counted)], f"the line of {service['name']}")
        expect_equal(row[7], "well", f"the health of {service['name']}")
    listed = cells(page, "requests")
    expect(any("GET " in row[3] and "/users/octocat" in row[3] and "fwd=uri-miss" in row[3] for row in listed),
           f"the first request is not among {listed}")
    expect(any(row[1] == "error" or row[2] == "503" for row in listed), f"the failure is not among {listed}")
    hottest = page.value("[...document.querySelectorAll('#hottest li')].map(line => line.textContent)")
    expect("/users/octocat" in hottest[0] and "3" in hottest[0], f"the hottest are {hottest}")
    kept = page.value("document.getElementById('not-kept').textContent")
    expect_in("/v1/now", kept, "what is not kept")
    expect_in("no-store", kept, "why it is not kept")
    resources = cells(page, "resources")
    expect_equal(len(resources), len(json.loads(daemon.get("/-/resources")[2])["resources"]), "the number of resources")
    # Events are told from now on, hits from memory too.
    before = page.value("document.querySelectorAll('#requests tbody tr').length")
    daemon.get("/github/users/octocat")
    expect(page.wait_until(f"document.querySelectorAll('#requests tbody tr').length > {before}"), "a hit is not shown")
    expect_equal(cells(page, "requests")[0][1:3], ["hit", "200"], "the newest request")
    # A filter shows nothing of before, and nothing else.
    page.value("match.value = '**/users/*'; document.querySelector('#filter button').click(); 1")
    expect(page.wait_until("[...document.querySelectorAll('#requests tbody tr')].every(row => /users/.test("
                           "row.cells[3]?.textContent))"), f"the filter shows {cells(page, 'requests')}")
    expect_quiet(page, daemon)


@case("dashboard", "a request leads to its explanation; content is shown; load, invalidate and wipe take the token")
def actions(context):
    origin, _, daemon = setting(context)
    some_requests(daemon, origin)
    page = opened(context, daemon)
    expect(page.wait_until("document.querySelectorAll('#requests tbody button').length > 5"), "no requests are listed")
    page.value("[...document.querySelectorAll('#requests button')].find(b => /octocat/.test(b.textContent)).click(); 1")
    expect(page.wait_until("!outcome.hidden && /from the cache/.test(outcome.textContent)"), text(page, "outcome"))
    sheets = page.value("[...document.querySelectorAll('#explanation h3')].map(h => h.textContent)")
    expect("Stored" in sheets and "Freshness" in sheets and "To change that" in sheets, f"the explanation has {sheets}")
    expect_equal(page.value("document.querySelectorAll('#explanation pre').length"), 0, "preformatted text")

    def content(path, expected):
        page.value(f"url.value = '{origin.url}/v1{path}'; show.click(); 1")
        expect(page.wait_until(f"!document.getElementById('content').hidden && {expected}"),
               f"content of {path}: {text(page, 'content')}")

    content("/users/octocat", "/\"followers\": 20000/.test(document.querySelector('#content pre')?.textContent)")
    content("/notes.txt", "/first line\\nsecond/.test(document.querySelector('#content pre')?.textContent)")
    content("/logo.png", "document.querySelector('#content img')?.naturalWidth === 10")

    url = f"{origin.url}/v1/users/octocat"
    page.value(f"url.value = '{url}'; document.querySelector('#explain button').click(); 1")
    page.wait_until("!document.getElementById('actions').hidden")

    def click(action):
        page.value(f"document.querySelector('[data-action={action}]').click(); 1")

    def done(words):
        expect(page.wait_until(f"/{words}/.test(done.textContent)"), f"after an action: {text(page, 'done')}")

    asked = len(origin.asked)
    click("load")
    done("take the admin token")
    expect_equal(len(origin.asked), asked, "requests without a token")
    enter = "document.getElementById('token').value = %s; document.querySelector('#token-form button').click(); 1"
    page.value(enter % "'wrong'")
    expect(page.wait_until("/not the admin token/.test(document.getElementById('token-note').textContent)"),
           "a wrong token is not told of")
    page.value(enter % f"'{TOKEN}'")
    click("load")
    done("loaded and stored|validated")
    expect_equal(len(origin.asked), asked + 1, "requests of a load")
    click("invalidate")
    done("out of date now")
    state = json.loads(daemon.get(f"/-/resources?url={url}")[2])["state"]
    expect_equal(state, "invalidated", "the state after invalidating")
    answer_questions(page, "false")
    click("wipe")
    expect_equal(page.value("window.asked"), 1, "questions before wiping")
    expect_equal(daemon.get(f"/-/resources?url={url}")[0], 200, "the resource that is not to be wiped after all")
    answer_questions(page, "true")
    click("wipe")
    done("wiped")
    expect_equal(daemon.get(f"/-/resources?url={url}")[0], 404, "the resource after wiping")
    page.told("Log.entryAdded")
    expect_quiet(page, daemon)


@case("dashboard", "the versions that are kept are listed, and two of them compared")
def versions(context):
    origin = context.origin({})
    daemon = context.daemon(f"services:\n  api:\n    baseURL: {origin.url}\n    history: 5\n")
    for content in ('{"b": 2, "a": 1}', '{"a": 1,   "b": 2}', '{"a": 1, "b": "<i>3</i>"}'):
        origin.routes["/a"] = fresh(content, "application/json", seconds=0)
        daemon.get("/api/a")
    page = opened(context, daemon)
    page.value(f"url.value = '{origin.url}/a'; document.querySelector('#explain button').click(); 1")
    expect(page.wait_until("document.querySelectorAll('#versions li button').length === 3"),
           text(page, "versions"))
    expect_in("current", page.value("document.querySelector('#versions li').textContent"), "the latest version")

    def compared(line, chosen, expected):
        page.value(f"document.querySelector('#versions select').value = {chosen};"
                   f"document.querySelectorAll('#versions li button')[{line}].click(); 1")
        expect(page.wait_until(f"[...document.querySelectorAll('#difference del, #difference ins')].map("
                               f"line => line.textContent).join('') === {json.dumps(expected)}"),
               text(page, "difference"))

    compared(1, 0, '-   "b": 2\n+   "b": "<i>3</i>"\n')
    # Where the members are equal, the texts are compared.
    compared(2, 1, '- {"b": 2, "a": 1}\n+ {"a": 1,   "b": 2}\n')
    page.value("document.querySelectorAll('#versions li button')[1].click(); 1")
    expect(page.wait_until("/The same content/.test(document.getElementById('difference').textContent)"),
           text(page, "difference"))
    for scheme in ("light", "dark"):
        page.prefer(scheme)
        expect_equal(page.value(CONTRAST), [], f"texts with too little contrast, {scheme}")
    expect_quiet(page, daemon)


# Every text that is to be seen: what it has for contrast with what is behind it (WCAG 2.2, 1.4.3).
CONTRAST = """
(() => {
  const channel = v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = node => {
    for (; node; node = node.parentElement) {
      const color = parse(getComputedStyle(node).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const poor = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const holder = node.parentElement;
    if (!node.textContent.trim() || holder.closest('title, script, noscript, [hidden], option')) continue;
    if (!holder.checkVisibility() || holder.closest('.unseen, .skip')) continue;
    const style = getComputedStyle(holder);
    const [a, b] = [light(parse(style.color)), light(behind(holder))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    if (ratio < (size >= 24 || size >= 18.66 && style.fontWeight >= 700 ? 3 : 4.5)) {
      poor.push(node.textContent.trim().slice(0, 40) + ': ' + ratio.toFixed(2));
    }
  }
  return poor;
})()"""


@case("dashboard", "it is readable on a phone, a desk and a wall, dark and light, and asks nobody else")
def looks(context):
    origin, _, daemon = setting(context)
    some_requests(daemon, origin)
    tunnel(daemon, origin)
    page = opened(context, daemon)
    page.wait_until("document.querySelectorAll('#requests tbody button').length > 5")
    page.value(f"url.value = '{origin.url}/v1/now'; document.querySelector('#explain button').click(); 1")
    page.wait_until("!explanation.hidden")
    for name, (width, height) in SIZES.items():
        page.size(width, height)
        for scheme in ("light", "dark"):
            page.prefer(scheme)
            what = f"at {width} pixels, {scheme}"
            widths = page.value("[document.documentElement.scrollWidth, innerWidth]")
            expect(widths[0] <= widths[1], f"{what} the page is {widths[0]} wide")
            expect_equal(page.value(CONTRAST), [], f"texts with too little contrast {what}")
            size = page.value("parseFloat(getComputedStyle(document.querySelector('#requests td')).fontSize)")
            expect(size >= (18 if width > 2000 else 13), f"{what} texts have {size} pixels")
            narrow = page.value("[...document.querySelectorAll('.card, .tile')].filter(card => card.checkVisibility()"
                                " && card.scrollWidth > card.clientWidth + 1).map(card => card.id || card.textContent)")
            expect_equal(narrow, [], f"cards whose content does not fit {what}")
    expect_quiet(page, daemon)


@case("dashboard", "it is used by keyboard alone")
def keyboard(context):
    origin, _, daemon = setting(context)
    some_requests(daemon, origin)
    page = opened(context, daemon)
    page.wait_until("document.querySelectorAll('#requests tbody button').length > 5")

    def tab_to(condition, limit=120):
        for _ in range(limit):
            page.press("Tab")
            if page.value(f"(node => !!({condition}))(document.activeElement)") is True:
                outline = page.value("getComputedStyle(document.activeElement).outlineStyle")
                return outline
        raise AssertionError(f"the keyboard does not lead to {condition}")

    tab_to("node.classList.contains('skip')")
    tab_to("node.id === 'unlock'")
    page.press("Enter")
    expect(page.wait_until("document.activeElement.id === 'token'"), "the token's field is not where the keys go")
    page.type(TOKEN)
    page.press("Enter")
    expect(page.wait_until("/Lock/.test(unlock.textContent) && document.activeElement.id === 'unlock'"), "the token")
    tab_to("node.id === 'span-recent'")
    page.press("ArrowRight")
    expect(page.wait_until("document.getElementById('span-day').checked"), "the span does not change by keys")
    outline = tab_to("/octocat/.test(node.textContent) && node.closest('#requests')")
    expect(outline == "solid", f"where the keys are is not to be seen: {outline}")
    page.press("Enter")
    expect(page.wait_until("!outcome.hidden && document.activeElement.id === 'look-title'"), "the explanation")
    answer_questions(page, "true")
    tab_to("node.dataset && node.dataset.action === 'wipe'")
    page.press("Enter")
    expect(page.wait_until("/wiped/.test(done.textContent)"), f"wiping by keys: {text(page, 'done')}")
    expect_quiet(page, daemon)


@case("dashboard", "a refused reload is shown until a good one")
def refused(context):
    _, _, daemon = setting(context)
    page = opened(context, daemon)
    good = daemon.file.read_text()
    daemon.file.write_text(good + "cahce: {}\n")
    daemon.reload()
    expect(page.wait_until("!document.getElementById('refused').hidden"), "a refused reload is not shown")
    expect_in("did you mean", text(page, "refused"), "why it was refused")
    daemon.file.write_text(good)
    daemon.reload()
    expect(page.wait_until("document.getElementById('refused').hidden"), "the notice stays")
    expect_quiet(page, daemon)


@case("dashboard", "pictures of it (--full)")
def pictures(context):
    if not context.full:
        return "only with --full"
    origin, stock, daemon = setting(context, pause=0.004)
    ending = threading.Event()

    def client(number):
        turn = number
        while not ending.wait(0.02 + 0.05 * (turn % 7 == 0)):
            turn += 1
            connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=10)
            for step in range(4):
                name = (turn * 7 + step * 3) % (40 if turn % 3 else 400)
                path = ["/github/users/%d" % name, "/inventory/shelf/%d" % (name % 60), "/github/users/octocat",
                        "/github/now" if turn % 5 == 0 else "/github/notes.txt"][step]
                connection.request("GET", path)
                connection.getresponse().read()
            connection.close()

    threads = [threading.Thread(target=client, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    some_requests(daemon, origin)
    tunnel(daemon, origin)
    page = opened(context, daemon)
    # The browser's reports are read meanwhile, before they fill its socket.
    for _ in range(75):
        time.sleep(2)
        page.value("1")
    page.value(f"url.value = '{origin.url}/v1/users/octocat'; document.querySelector('#explain button').click(); 1")
    page.wait_until("!explanation.hidden")
    page.value("scrollTo(0, 0); document.activeElement.blur(); 1")
    PICTURES.mkdir(exist_ok=True)
    for name, (width, height) in SIZES.items():
        page.size(width, height, 0.5 if width > 2000 else 1)
        page.prefer("dark" if name == "wall" else "light")
        time.sleep(3)
        picture = page.picture()
        expect(len(picture) < 300_000, f"the picture {name} has {len(picture)} octets")
        (PICTURES / f"dashboard-{name}.png").write_bytes(picture)
    ending.set()
    for thread in threads:
        thread.join()
