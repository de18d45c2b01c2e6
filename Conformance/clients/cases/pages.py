# SPDX-License-Identifier: Apache-2.0
"""Web pages in a real browser: those that would misuse the gateway, and those that people use."""

import json
import os
import shutil

from harness.case import Skipped, case, expect, expect_equal, expect_in
from harness.devtools import OpenPage
from harness.origin import Answer, fresh

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Nothing of this leaves the machine.
QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
         "--disable-default-apps", "--disable-extensions", "--no-proxy-server",
         "--host-resolver-rules=MAP * 127.0.0.1, EXCLUDE localhost, EXCLUDE 127.0.0.1")
SECRET = "the user's own data"
SERVICE = """services:
  api:
    baseURL: {url}/v1/
    {more}
    configure:
      - match: "**"
        headers: {{ Authorization: "Bearer of-the-user" }}
"""


def browser(context, url):
    """A browser at `url`, closed with the case."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        raise Skipped("no Chromium is installed")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    page = OpenPage(program, context.directory, "about:blank", *QUIET, *sandbox)
    context.origins.append(page)
    page.open(url)
    return page


def html(body):
    return fresh(f"<!DOCTYPE html><title>page</title>{body}", "text/html")


def service(context, more="privacy: shared"):
    """An API that answers everybody with a user's credentials, and lets every page read it; and a daemon with it."""
    anyone = {"Access-Control-Allow-Origin": "*", "Cache-Control": "max-age=60", "Content-Type": "application/json"}

    def answer(path):
        if path.startswith("/v1/page"):
            return PAGES.get(path, Answer(b"", 404))
        return Answer(json.dumps({"data": SECRET}).encode(), 200, {**anyone, "X-Total": "7"})

    origin = context.origin({None: answer})
    daemon = context.daemon(SERVICE.format(url=origin.url, more=more))
    return origin, daemon


def attempts(urls):
    """A script that asks for each URL in every way a page has, and promises what came of it."""
    return """
        (async () => {
            const said = [];
            const note = (what, promise) => promise.then(text => said.push([what, String(text)]),
                                                         error => said.push([what, "failed"]));
            for (const url of %s) {
                await note("fetch " + url, fetch(url).then(answer => answer.text()));
                await note("with cookies " + url, fetch(url, {credentials: "include"}).then(answer => answer.text()));
                await note("unread " + url, fetch(url, {mode: "no-cors"}).then(answer => answer.type));
                await note("post " + url, fetch(url, {method: "POST", mode: "no-cors", body: "a=1"}).then(a => a.type));
                await note("put " + url, fetch(url, {method: "PUT", body: "a=1"}).then(answer => answer.text()));
                await note("script " + url, new Promise((done, failed) => {
                    const script = document.createElement("script");
                    script.onload = () => done("ran"); script.onerror = failed; script.src = url;
                    document.documentElement.append(script);
                }));
                await note("frame " + url, new Promise(done => {
                    const frame = document.createElement("iframe");
                    frame.onload = () => {
                        try { done(frame.contentDocument.body.innerText); } catch { done("unreadable"); }
                    };
                    frame.src = url; document.documentElement.append(frame);
                }));
                await note("form " + url, new Promise(done => {
                    const frame = document.createElement("iframe"), form = document.createElement("form");
                    frame.name = "f" + Math.random(); form.target = frame.name; form.method = "post"; form.action = url;
                    document.documentElement.append(frame, form); frame.onload = () => done("sent"); form.submit();
                }));
                await note("socket " + url, new Promise((done, failed) => {
                    const socket = new WebSocket(url.replace("http", "ws"));
                    socket.onopen = () => done("open"); socket.onerror = failed;
                }));
            }
            return said;
        })()""" % json.dumps(urls)


def expect_nothing(said, what):
    expect(isinstance(said, list) and len(said) > 0, f"{what}: the script says {said}")
    for way, result in said:
        expect(SECRET not in result and "uptimeSeconds" not in result, f"{what}: {way} got {result}")
        expect(result != "open" and result != "ran", f"{what}: {way} {result}")


@case("pages", "a page of another site reads no service, writes to none and opens no socket to one")
def foreign_page(context):
    origin, daemon = service(context)
    evil = context.origin({None: html("<h1>evil</h1>")})
    # A stored response is no more open than others.
    expect_in(SECRET, daemon.get("/api/secret")[2].decode(), "a program's answer")
    origin.forget()
    page = browser(context, f"{evil.url}/x.html")
    at = [f"http://localhost:{daemon.port}", f"http://127.0.0.1:{daemon.port}"]
    urls = [f"{base}/api/secret" for base in at] + [
        f"http://api.localhost:{daemon.port}/secret", f"{at[0]}/http/{origin.authority}/v1/secret",
        f"http://http-{origin.port}--127-0-0-1.localhost:{daemon.port}/v1/secret", f"{at[0]}/-/status"]
    said = page.value(attempts(urls))
    expect_nothing(said, "a page of another site")
    expect_equal([asked.path for asked in origin.asked], [], "what the service was asked")
    # A link does not lead there either.
    target = f"{at[0]}/api/secret"
    page.value(f"location.href = {target!r}; 1")
    page.wait_for(target)
    expect(SECRET not in page.document("403"), "a link on another site leads to the service")
    expect_equal(origin.asked, [], "what the service was asked")


@case("pages", "a stranger's page behind the gateway reads nothing of what has the same address")
def stranger(context):
    origin, daemon = service(context)
    here = f"http://localhost:{daemon.port}"
    login = Answer(b"<!DOCTYPE html>in", 200, {"Content-Type": "text/html", "Set-Cookie": "session=mine; Path=/"})
    evil = context.origin({
        "/x.html": fresh("<!DOCTYPE html><h1 id=a>quiet</h1><script>a.innerText = 'it ran'</script>", "text/html",
                         Service_Worker_Allowed="/", Set_Cookie="path=escaped; Path =/"),
        "/worker.js": fresh("onfetch = event => event.respondWith(new Response('forged'))", "text/javascript",
                            Service_Worker_Allowed="/"),
        "/login": login,
    })
    other = context.origin({None: login})
    page = browser(context, f"{here}/http/{other.authority}/login")
    evil_url = f"{here}/http/{evil.authority}/x.html"

    # Another site's link to it shows nothing of it.
    outside = context.origin({None: html("<h1>outside</h1>")})
    page.open(f"{outside.url}/")
    page.value(f"location.href = {evil_url!r}; 1")
    page.wait_for(evil_url)
    expect("it ran" not in page.document("403"), "a link on another site runs a stranger's page in the gateway")
    expect_equal(evil.asked, [], "what the stranger was asked")

    # A user who types its URL sees it, and it sees nothing else.
    page.open(evil_url)
    expect_in("it ran", page.document("it ran"), "the stranger's page")
    expect_nothing(page.value(attempts([f"{here}/api/secret", f"{here}/-/status", f"{here}/-/resources"])), "the page")
    expect_equal(origin.asked, [], "what the service was asked")
    for script, what in [
        ("document.cookie", "cookies"), ("localStorage.length", "storage"), ("origin", "its origin"),
        ("navigator.serviceWorker.register('worker.js', {scope: '/'}).then(() => 'registered')", "a service worker"),
        ("caches.keys().then(keys => 'caches')", "caches"),
        ("indexedDB.databases().then(() => 'databases')", "databases"),
    ]:
        said = str(page.value(f"(() => {{ try {{ return {script}; }} catch (error) {{ return 'refused'; }} }})()"))
        expect(said in ("null", "refused", "None") or "Error" in said, f"the page has {what}: {said}")
    opened = page.value(f"(() => {{ window.w = window.open('{here}/-/status'); return 1; }})()")
    expect_equal(opened, 1, "opening a window")
    read = page.value("new Promise(done => setTimeout(() => { try { done(w.document.body.innerText); }"
                      " catch (error) { done('refused'); } }, 500))")
    expect("uptimeSeconds" not in str(read), "the page reads the status in a window of its own")

    # The traces it left concern nobody else.
    page.open(f"{here}/-/status")
    expect_in("uptimeSeconds", page.document("uptimeSeconds"), "the status, for who types it")
    expect("path=escaped" not in str(page.value("document.cookie")), "its cookie is sent to all the gateway")


PAGES = {
    "/v1/page.html": html("""
        <link rel=stylesheet href=page.css><img id=image src=page.svg onload="this.alt = 'shown'"><p id=text></p>
        <script src=page.js></script>"""),
    "/v1/page.css": fresh("p { color: rgb(1, 2, 3) }", "text/css"),
    "/v1/page.svg": fresh('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>', "image/svg+xml"),
    "/v1/page.js": fresh("""
        document.cookie = "mine=1";
        fetch("data").then(answer => answer.json()).then(async json => {
            const put = await fetch("data", {method: "PUT", body: "{}"});
            text.innerText = json.data + ", " + put.status + ", " + document.cookie;
        });""", "text/javascript"),
}


def expect_whole_page(page):
    expect_in(f"{SECRET}, 200, mine=1", page.document("mine=1"), "what the page's script wrote")
    expect_equal(page.value("getComputedStyle(text).color"), "rgb(1, 2, 3)", "its style")
    expect_equal(page.value("image.alt"), "shown", "its image")


@case("pages", "a page at a service's name has its scripts, images and data; a service worker it does not get")
def page_at_name(context):
    origin, daemon = service(context)
    page = browser(context, f"http://api.localhost:{daemon.port}/page.html")
    expect_whole_page(page)
    page.open(f"http://http-{origin.port}--127-0-0-1.localhost:{daemon.port}/v1/page.html")
    expect_whole_page(page)
    said = page.value("navigator.serviceWorker.register('page.js').then(() => 'registered')")
    expect("registered" not in said, f"a service worker: {said}")
    # It has that name alone.
    urls = [f"http://localhost:{daemon.port}/api/secret", f"http://localhost:{daemon.port}/-/status"]
    said = page.value(attempts(urls))
    expect_nothing(said, "a page at a name of its own")
    page.open(f"http://localhost:{daemon.port}/")
    expect_in("Larder", page.document("as they happen"), "the first page")


@case("pages", "an app on an origin that the service lists uses it with every method, field and cookie")
def listed_app(context):
    app = context.origin({None: html("<p id=text>app</p>")})
    listed = f"http://localhost:{app.port}"
    origin, daemon = service(context, f'browsers: {{ allow: ["{listed}"] }}')
    page = browser(context, f"{listed}/")
    base = f"http://localhost:{daemon.port}/api"
    said = page.value("""
        (async () => {
            const said = [];
            for (const round of [1, 2, 3]) {
                const answer = await fetch("%(base)s/data");
                said.push(answer.status, (await answer.json()).data, answer.headers.get("X-Total"));
            }
            const cookies = await fetch("%(base)s/data", {credentials: "include"});
            said.push(cookies.status, cookies.headers.get("X-Total"));
            for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
                const options = {method, body: "{}", headers: {"Content-Type": "application/json", "X-Mine": "1"}};
                said.push((await fetch("%(base)s/data", options)).status);
            }
            said.push(await new Promise(done => {
                const image = new Image();
                image.onload = () => done("shown"); image.onerror = () => done("broken");
                image.src = "%(base)s/page.svg";
            }));
            return said;
        })()""" % {"base": base})
    expect_equal(said, [200, SECRET, "7"] * 3 + [200, "7"] + [200] * 4 + ["shown"], "what the app got")
    expect(all(asked.fields.get("authorization") == "Bearer of-the-user" for asked in origin.asked), "the credentials")
    expect(not any("origin" in asked.fields for asked in origin.asked), "the origin hears of the app")
    # The same page from another port is another origin.
    other = context.origin({None: html("<p>other</p>")})
    page.open(f"http://localhost:{other.port}/")
    origin.forget()
    expect_nothing(page.value(attempts([f"{base}/data"])), "an app that is not listed")
    expect_equal(origin.asked, [], "what the service was asked")
