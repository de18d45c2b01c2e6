// SPDX-License-Identifier: Apache-2.0
// Asks for the status while the page is looked at, and is told of requests and resources as they happen.
"use strict";

let last = null, past = null, wantsDay = false;

// MARK: Figures

const servedOf = r => r.hit + r.stale + r.validated + r.collapsed;
// All but those to Larder itself, as `larder status` counts them.
const totalOf = ({ own, ...others }) => Object.values(others).reduce((sum, n) => sum + n, 0);

function showFigures(status) {
  const r = status.requests, served = servedOf(r), now = performance.now();
  const all = totalOf(r);
  if (last && all >= last.all) {
    $("rate").textContent = rateText((all - last.all) / Math.max(0.2, (now - last.at) / 1000));
  }
  last = { at: now, all };
  $("version").textContent = status.version;
  $("any-host-line").hidden = !status.anyHost.gateway;
  $("state").textContent = status.offline.mode === "on" ? "offline" : status.state;
  $("state").className = "badge " + (status.state === "serving" && status.offline.mode !== "on" ? "good" : "bad");
  $("uptime").textContent = "up " + span(status.uptimeSeconds);
  const isAsked = served + r.miss + r.error > 0;
  $("hit-ratio").textContent = isAsked ? percent(status.hitRatio) : "–";
  $("hit-note").textContent = count(served) + " of " + count(served + r.miss + r.error) + " hits, misses and errors since the start";
  $("rate-note").textContent = count(all) + " in all, " + count(status.connections.open) + " connections";
  $("saved").textContent = bytes(status.bytes.saved);
  $("saved-note").textContent = status.bytes.sent ? percent(status.byteHitRatio) + " of " + bytes(status.bytes.sent) + " sent to clients" : "nothing sent yet";
  for (const [name, from] of [["hit", "hits"], ["load", "loads"]]) {
    const { p50, p99 } = status.latencyMilliseconds[from];
    $(name + "-latency").textContent = latency(p50 / 1000);
    $(name + "-latency-note").textContent = p50 ? "median; 99 %: " + latency(p99 / 1000) : "nothing yet";
  }
  $("outcomes").replaceChildren(...Object.keys(r).filter(name => name !== "own").map(name => {
    const item = element("span", name + " ");
    item.append(element("b", count(r[name]), name === "error" && r[name] ? "bad-text" : ""));
    return item;
  }));
  for (const tier of ["memory", "disk"]) {
    const { bytes: used, limit } = status[tier];
    $(tier).value = limit ? used / limit : 0;
    $(tier + "-note").textContent = limit ? bytes(used) + " of " + bytes(limit) : "none";
  }
  $("store").textContent = "On disk: " + status.store.state
    + (status.store.entries === undefined ? "" : ", " + count(status.store.entries) + (status.store.entries === 1 ? " response" : " responses"));
  showShared(status.sharedCache);
  $("store").className = status.store.state.startsWith("reading only") ? "bad-text" : "quiet";
  $("resources-note").textContent = "in memory and on disk; " + count(status.resources) + " of them in memory";
}

// What several daemons have in common; nothing where this one shares nothing.
function showShared(tier) {
  $("shared").hidden = !tier;
  if (!tier) return;
  $("shared").textContent = "Shared with other daemons: " + tier.state + "; "
    + count(tier.found) + " of " + count(tier.found + tier.missed) + " found, " + count(tier.written) + " given"
    + (tier.rejected ? ", " + count(tier.rejected) + " rejected: altered, or sealed with another key" : "");
  $("shared").className = tier.state === "working" && !tier.rejected ? "quiet" : "bad-text";
}

function showRefused({ latest }) {
  const isRefused = latest && !latest.accepted;
  $("refused").hidden = !isRefused;
  if (!isRefused) return;
  $("refused").replaceChildren(
    element("b", "The changed configuration was refused; the one before is in force."),
    holding("ul", "", ...latest.problems.map(text => element("li", text))));
}

// MARK: Services and origins

const troubleOf = ({ state, openUntil }) => (state === "open" && !openUntil ? "failed; the next request tries it again"
  : { open: "left alone, as it fails", halfOpen: "being tried again", paused: "asks to wait" }[state]);

const failures = n => count(n) + (n === 1 ? " request" : " requests") + " failed";

// Hosts that no service covers have no health in common; the list of origins has that of each.
const healthOfOthers = failed => (failed ? holding("td", "long warn-text", failures(failed), element("span", "see Origins", "sub"))
  : element("td", "", "quiet"));

const lastErrorOf = ({ lastError, lastErrorAt }) =>
  lastError && lastErrorAt ? `${lastError} (${new Date(lastErrorAt).toLocaleString()})` : lastError;

function healthOf(service, upstreams) {
  if (service.offline) return element("td", "offline", "warn-text");
  const { origin, protocol } = new URL(service.baseURL);
  const named = origin + (/:\d+$/.test(origin) ? "" : protocol === "https:" ? ":443" : ":80");
  const line = upstreams.find(other => other.origin === origin || other.origin === named);
  if (!line) return element("td", "not asked yet", "quiet");
  const trouble = troubleOf(line);
  const failed = service.requests.error;
  if (!trouble && failed) {
    return holding("td", "long warn-text", "answers now", element("span", failures(failed) + " since the start", "sub"));
  }
  // Single errors are everybody's; most of all that came say something.
  if (!trouble && line.serverErrors * 2 > line.requests) {
    const many = `${count(line.serverErrors)} of ${count(line.requests)} answers since the start were errors (5xx)`;
    return holding("td", "long warn-text", "answers", element("span", many, "sub"));
  }
  if (!trouble) return element("td", "well", "good-text");
  return holding("td", "long bad-text", trouble, element("span", lastErrorOf(line), "sub"));
}

// A name of its own, where there is one: below a path, a page does not find its styles. It is typed, and no link: there
// this page is another site, which is refused.
function nameOf(service) {
  const hasName = location.hostname === "localhost" && /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/i.test(service.name);
  return hasName ? "For its pages type " + service.name + ".localhost:" + (location.port || 80) + " into the address bar" : "";
}

function showServices(status) {
  const others = { name: "other hosts", ...status.otherHosts };
  const all = status.services.concat(totalOf(others.requests) ? [others] : []);
  rows("services", all.map(service => {
    const r = service.requests;
    const name = service.mount ? element("a", service.name) : element("span", service.name);
    if (service.mount) { name.href = service.mount; name.title = nameOf(service); }
    const { hits, loads } = service.latencyMilliseconds;
    return [
      holding("td", "long", name, service.baseURL ? element("span", service.baseURL, "sub") : null),
      holding("td", "plot-column", sparkline(past && past.services[service.mount ? service.name : "-"])),
      element("td", servedOf(r) + r.miss + r.error ? percent(service.hitRatio) : "–", "number"),
      element("td", count(totalOf(r)), "number"), element("td", bytes(service.bytes.saved), "number"),
      element("td", latency(hits.p50 / 1000), "number roomy"), element("td", latency(loads.p50 / 1000), "number roomy"),
      service.baseURL ? healthOf(service, status.upstreams) : healthOfOthers(r.error),
    ];
  }), "None yet: describe one in the configuration.");
}

function showOrigins(status) {
  rows("origins", status.upstreams.map(line => [
    element("td", line.origin, "long place"), element("td", count(line.requests), "number"),
    element("td", count(line.serverErrors), "number" + (line.serverErrors ? " warn-text" : "")),
    element("td", count(line.failures), "number" + (line.failures ? " warn-text" : "")),
    element("td", line.active + " + " + line.idle + " idle", "number"), element("td", count(line.waiting), "number"),
    element("td", [troubleOf(line), lastErrorOf(line)].filter(Boolean).join(": "), "long quiet"),
  ]), "None has been asked yet.");
}

function showTunnels(status) {
  const unseen = status.interception.tunnels.filter(line => line.lasts);
  $("unseen").hidden = !unseen.length;
  rows("tunnels", unseen.map(line => {
    const ways = line.toChangeThat.map(way => element("code", way));
    const copy = ways.length && navigator.clipboard
      ? button("Copy", "link", () => navigator.clipboard.writeText(line.toChangeThat[0])) : null;
    return [
      element("td", line.host, "long"), element("td", count(line.requests), "number"),
      element("td", bytes(line.bytes), "number"), holding("td", "long", ...sentence(line.why)),
      holding("td", "cure", ...ways, copy),
    ];
  }), "Nothing.");
}

// MARK: Whose a URL is

let bases = [];

function noteServices(services) {
  const before = JSON.stringify(bases);
  bases = services.filter(service => service.baseURL).map(({ name, baseURL }) => ({ name, baseURL }));
  if (JSON.stringify(bases) !== before) { list(); repaint(); }
}

// The service of a line whose URL alone does not tell it: several cover it, or another one than the line's.
function ambiguousService({ url, service }) {
  const covering = bases.filter(({ baseURL }) => url.startsWith(baseURL));
  const isClear = covering.length === 1 ? covering[0].name === service : !covering.length && service === "-";
  return !service || isClear ? null : service === "-" ? "no service" : service;
}

function serviceBelow(line) {
  const name = ambiguousService(line);
  return name ? element("span", name, "sub") : null;
}

// MARK: Rankings

const pathOf = url => url.replace(/^https?:\/\//, "");

function ranking(list, lines, otherwise) {
  const made = lines.map(({ url, service, method, figure, why }) => holding("li", "",
    button((method && method !== "GET" ? method + " " : "") + pathOf(url), "link", () => lookAt(url, method)),
    element("b", figure),
    element("span", [ambiguousService({ url, service }), why].filter(Boolean).join(": "), "quiet why")));
  keepFocus($(list), () => $(list).replaceChildren(...(made.length ? made : [element("li", otherwise, "quiet")])));
}

// Where there are users, the browser asks for name and password meanwhile; who gave none is not asked again and again.
let isRanking = false, isRefused = false;

async function rank(status) {
  if (isRanking || isRefused) return;
  isRanking = true;
  try {
    await showHighlights(status);
    $("login").hidden = true;
  } catch (error) {
    isRefused = error.status === 401;
  }
  isRanking = false;
}

// A request without credentials is refused without a question of the browser, which not each one asks.
async function sayWhoMayLook() {
  try {
    $("login").hidden = (await fetch("/-/requests?limit=1", { credentials: "omit" })).status !== 401;
  } catch (_) { /* The next request fails too. */ }
}

async function showHighlights({ requests }) {
  const { hottest, slowest, notKept } = await ask("/-/highlights?limit=8");
  ranking("hottest", hottest.map(line => ({ url: line.url, service: line.service, figure: count(line.hits), why: line.state })),
    "Nothing was answered from memory yet.");
  ranking("slowest", slowest.map(line => ({ url: line.url, service: line.service, method: line.method, figure: latency(line.longestSeconds),
    why: `${count(line.requests)} ${line.requests === 1 ? "load" : "loads"}, ${latency(line.meanSeconds)} on average` })), "Nothing was loaded yet.");
  ranking("not-kept", notKept.map(line => ({ url: line.url, service: line.service, method: line.method, figure: count(line.requests),
    why: line.reason })), requests.error ? failures(requests.error) + "; nothing else was left unstored since the start."
    : "Nothing was left unstored since the start.");
}

// MARK: Resources

// Ages and lifetimes go on by themselves; nobody has to be asked about them.
let clocks = [];
function age() {
  for (const { line, at, state, age, ttl } of clocks) {
    const passed = Math.floor((performance.now() - at) / 1000);
    if (line.age !== undefined) age.textContent = span(line.age + passed);
    if (line.ttl === undefined || line.ttl === null) continue;
    ttl.textContent = line.ttl < passed ? "–" : span(line.ttl - passed);
    if (state.textContent === "fresh" && line.ttl - passed < 0) {
      state.textContent = "stale";
      state.className = "warn-text";
    }
  }
}

async function list() {
  const match = $("pattern").value.trim();
  const query = new URLSearchParams({ limit: 100, sort: $("sort").value, state: $("resource-state").value });
  if (match) query.set("match", match);
  try {
    const page = await ask("/-/resources?" + query);
    clocks = [];
    rows("resources", page.resources.map(line => {
      const style = { fresh: "good-text", failed: "bad-text" }[line.state] || "warn-text";
      const clock = { line, at: performance.now(), state: element("td", line.state, style),
        age: element("td", null, "number roomy"), ttl: element("td", null, "number roomy") };
      clocks.push(clock);
      return [
        clock.state, element("td", line.status, "number roomy"), element("td", count(line.hits), "number"),
        element("td", line.bytes === undefined ? "" : bytes(line.bytes), "number"), clock.age, clock.ttl,
        element("td", line.where, "roomy"), holding("td", "long", button(line.url, "link", () => lookAt(line.url)),
          line.leftover ? element("span", `left over from the former service ${line.service}; larder wipe --match '${line.url.split("?")[0]}' removes it`, "sub")
            : serviceBelow(line)),
      ];
    }), match || query.get("state") !== "any" ? "Nothing matches." : "Nothing is stored yet.");
    const more = page.total - page.resources.length;
    $("more").hidden = more <= 0;
    $("more").textContent = `and ${count(more)} more${page.isComplete ? "" : " or so"}; narrow the list with a pattern`;
    age();
  } catch (error) {
    $("more").hidden = true;
    rows("resources", [], error.message);
  }
}

// MARK: As it happens

const seen = [], happened = [];
let source = null, awaited = null, isPainting = false, isPaused = false;

const outcomeStyle = kind => ({ hit: "good-text", validated: "good-text", collapsed: "good-text", stale: "warn-text",
  error: "bad-text", refused: "warn-text", aborted: "bad-text" }[kind] || "");

function requestLine(note) {
  const isTunnel = note.outcome === "tunnel";
  const name = note.method + " " + note.url;
  return [
    element("td", new Date(note.at).toLocaleTimeString(), "quiet"), element("td", note.outcome, outcomeStyle(note.outcome)),
    element("td", note.status || "–", "number"),
    holding("td", "long", isTunnel ? name : button(name, "link", () => lookAt(note.url.replace(/[?;]…$/, ""), note.method)),
      element("span", [ambiguousService(note), note.cacheStatus || note.problem || note.reason].filter(Boolean).join(": "), "sub")),
    element("td", bytes(note.bytes), "number roomy"), element("td", latency(note.seconds), "number roomy"),
  ];
}

function now(data) {
  if (data.progress !== undefined) return percent(data.progress);
  const { latestData, latestError, isUpToDate, isLoading } = data.state || {};
  const words = [];
  if (latestData) {
    words.push((latestData.isOverride ? "override" : latestData.status) + ", " + bytes(latestData.bytes));
    words.push(isUpToDate ? "up to date" : "out of date");
  } else {
    words.push("no data");
  }
  if (latestError) words.push("failed: " + (latestError.error || latestError.status));
  if (isLoading) words.push("loading");
  return words.join(", ");
}

function paint() {
  isPainting = false;
  if (isPaused) return;
  const outcome = $("outcome-filter").value;
  const shown = seen.filter(note => !outcome || note.outcome === outcome).slice(0, 60);
  rows("requests", shown.map(requestLine), $("match").value.trim() || outcome ? "None that matches yet." : "None yet.");
  rows("live", happened.map(({ at, data }) => [
    element("td", at.toLocaleTimeString(), "quiet"),
    element("td", data.event + (data.source ? " (" + data.source + ")" : ""),
      { error: "bad-text", newData: "good-text" }[data.event]),
    element("td", now(data)), holding("td", "long", data.url, serviceBelow(data)),
  ]), "Nothing has happened since this page is open.");
}

// Many events are one look at the list, and one picture.
function follow() {
  if (!awaited) awaited = setTimeout(() => { awaited = null; list(); }, 500);
}
function repaint() {
  if (!isPainting) { isPainting = true; requestAnimationFrame(paint); }
}

function tell(data) {
  if (data.event === "observerAdded") { follow(); return; }
  if (!data.url) return;
  if (data.event === "request") {
    if (seen.some(note => note.number === data.number)) return;
    seen.unshift(data);
    if (seen.length > 300) seen.pop();
    repaint();
    return;
  }
  const before = happened.findIndex(h => h.data.event === "progress" && h.data.url === data.url);
  if (before >= 0) happened.splice(before, 1);
  happened.unshift({ at: new Date(), data });
  if (happened.length > 40) happened.pop();
  repaint();
  if (data.event !== "progress") follow();
}

// What was seen by another filter goes; what comes late from the stream before it is not looked at any more. Where users
// have to say who they are, the browser asks for it once, and a stream that was refused before is opened again.
async function listen(isAgain = false) {
  if (source) source.close();
  source = null;
  if (document.hidden) return;
  const match = $("match").value.trim(), query = match ? "&match=" + encodeURIComponent(match) : "";
  const own = source = new EventSource("/-/events" + "?requests=1" + query);
  own.onopen = () => { $("live-note").textContent = (match ? "as they happen, of " + match : "as they happen")
    + "; hits only while somebody looks, and only some of many in a second"; };
  own.onmessage = message => { if (own === source) tell(JSON.parse(message.data)); };
  own.onerror = () => {
    if (own !== source) return;
    $("live-note").textContent = own.readyState === EventSource.CLOSED ? "not to be had" : "looking for Larder again";
  };
  try {
    const { requests } = await ask("/-/requests?limit=60" + query);
    if (own !== source) return;
    if (own.readyState === EventSource.CLOSED && !isAgain) return listen(true);
    for (const note of requests) if (!seen.some(known => known.number === note.number)) seen.push(note);
    seen.sort((a, b) => b.number - a.number);
  } catch (error) {
    $("live-note").textContent = error.message;
  }
  repaint();
}

// MARK: Time

let turn = 0;

async function refresh() {
  if (!document.hidden) {
    age();
    try {
      const status = await ask("/-/status");
      noteServices(status.services);
      if (turn % 5 === 0 || !past) {
        past = await ask("/-/history");
        drawHistory(wantsDay ? past.day : past.recent, wantsDay);
        rank(status);
      }
      turn += 1;
      showFigures(status);
      showRefused(status.configuration);
      showServices(status);
      showOrigins(status);
      showTunnels(status);
      $("trouble").hidden = true;
    } catch (error) {
      $("trouble").textContent = "Larder does not answer: " + error.message;
      $("trouble").hidden = false;
      $("state").textContent = "not reached";
      $("state").className = "badge bad";
      last = null;
    }
  }
  setTimeout(refresh, 1000);
}

$("filter").addEventListener("submit", event => {
  event.preventDefault();
  seen.length = 0;
  happened.length = 0;
  pause(false);
  listen();
});
$("outcome-filter").addEventListener("change", () => pause(false));
$("listing").addEventListener("submit", event => { event.preventDefault(); list(); });
for (const name of ["sort", "resource-state"]) $(name).addEventListener("change", list);
// Whoever chooses what is shown wants to see it: a pause ends with that.
function pause(isWanted) {
  isPaused = isWanted;
  $("pause").setAttribute("aria-pressed", String(isPaused));
  repaint();
}
$("pause").addEventListener("click", () => pause(!isPaused));
for (const choice of document.getElementsByName("span")) {
  choice.addEventListener("change", () => {
    wantsDay = $("span-day").checked;
    if (past) drawHistory(wantsDay ? past.day : past.recent, wantsDay);
  });
}
$("any-host").textContent = location.origin + "/https/example.com/";
sayWhoMayLook().then(refresh);
list();
listen();
document.addEventListener("visibilitychange", () => {
  if (isRefused) return;
  if (!document.hidden) list();
  listen();
});
