// SPDX-License-Identifier: Apache-2.0
// One URL: why it is answered as it is, what is stored of it, and what may be done with it.
"use strict";

let token = "";
// Whether a token that was typed is the right one, while that is being asked.
let unlocking = null;

// MARK: The explanation, laid out

function sheet(title, node, style) {
  return node ? holding("section", "sheet " + (style || ""), element("h3", title), node) : null;
}

function facts(list) {
  if (!list || !list.length) return null;
  const made = element("dl");
  for (const { name, value, note } of list) {
    made.append(element("dt", name), holding("dd", "", value, note ? holding("span", "quiet", " " + note) : null));
  }
  return made;
}

function bullets(list) {
  if (!list || !list.length) return null;
  return holding("ul", "", ...list.map(text => holding("li", "", ...sentence(text))));
}

function conditions(storage) {
  if (!storage || !storage.conditions.length) return null;
  const unmet = storage.conditions.filter(condition => !condition.met);
  const shown = unmet.length ? unmet : storage.conditions;
  const made = element("ul", null, "marks");
  for (const condition of shown) {
    const mark = element("span", condition.met ? "✓" : "✗", condition.met ? "good-text" : "bad-text");
    mark.setAttribute("aria-label", condition.met ? "holds:" : "does not hold:");
    const field = condition.field ? element("span", " " + condition.field, "quiet") : null;
    made.append(holding("li", "", mark, holding("span", "", condition.meaning, field)));
  }
  return made;
}

function candidates(stored) {
  if (!stored.length) return null;
  const made = element("ul", null, "marks");
  for (const { response, chosen, why } of stored) {
    const mark = element("span", chosen ? "●" : "○", chosen ? "good-text" : "quiet");
    mark.setAttribute("aria-label", chosen ? "chosen:" : "not chosen:");
    made.append(holding("li", "", mark, holding("span", "", response, element("span", why, "sub"))));
  }
  return made;
}

function showExplanation(answer) {
  const styles = { answer: "good-text", refuse: "bad-text", wait: "warn-text" };
  $("outcome").hidden = false;
  $("outcome").className = "verdict " + (styles[answer.decision] || "warn-text");
  $("outcome").replaceChildren(...sentence(answer.outcome));
  const blocks = answer.blocks.map(block => block.block + (block.changes.length ? ": " + block.changes.join("; ") : ""));
  const status = answer.cacheStatus ? element("code", "Cache-Status: " + answer.cacheStatus) : null;
  const sheets = [
    sheet("To change that", bullets(answer.toChangeThat), "whole"),
    sheet("Read with care", bullets(answer.notes), "whole"),
    sheet("Stored", candidates(answer.stored) || element("p", "Nothing is stored for it.", "quiet")),
    sheet("Freshness", facts(answer.freshness)),
    sheet("Service", facts(answer.service)),
    sheet("Configuration", bullets(blocks)),
    sheet(answer.storage.conditions.some(condition => !condition.met) ? "What keeps it from being stored"
      : "What lets it be stored", conditions(answer.storage)),
    sheet("Effects", facts(answer.effects)), sheet("Key", facts(answer.key)),
  ];
  const grid = holding("div", "facts", ...sheets);
  $("explanation").replaceChildren(...[status, grid].filter(Boolean));
  $("explanation").hidden = false;
}

function lookFailed(error) {
  $("outcome").hidden = false;
  $("outcome").className = "verdict bad-text";
  $("outcome").replaceChildren(...sentence(error.message));
  $("explanation").hidden = true;
}

// What is meant by a host, or by a service and a path, as the command line reads it.
function lookedAt() {
  const text = $("url").value.trim();
  if (!text || text.includes("://") || text.startsWith("/")) return text;
  const [authority] = text.split(/[/?]/);
  if (!/[.:\]]/.test(authority) && authority !== "localhost" && text[authority.length] === "/") return "/" + text;
  const port = /:(\d+)$/.exec(authority);
  return (port && port[1] !== "443" ? "http://" : "https://") + text + (authority === text ? "/" : "");
}

async function explain() {
  if (!lookedAt()) return;
  for (const name of ["content", "versions", "difference"]) $(name).hidden = true;
  $("actions").hidden = false;
  $("done").textContent = "";
  try {
    const method = $("method").value;
    const tried = method === "GET" ? "" : "&method=" + method;
    const answer = await ask("/-/explain?url=" + encodeURIComponent(lookedAt()) + tried);
    showExplanation(answer);
    await showVersions(answer.effects.some(fact => fact.name === "history"));
  } catch (error) {
    lookFailed(error);
  }
}

// Explains a URL that was chosen elsewhere on the page, and goes there.
async function lookAt(url, method) {
  $("url").value = url;
  $("method").value = [...$("method").options].some(option => option.value === method) ? method : "GET";
  await explain();
  $("look").scrollIntoView({ block: "start" });
  $("look-title").focus({ preventScroll: true });
}

// MARK: The content

// The first octets as people read them who want to see octets.
function dump(octets) {
  const made = [];
  for (let start = 0; start < Math.min(octets.length, 512); start += 16) {
    const line = [...octets.slice(start, start + 16)];
    const numbers = line.map(octet => octet.toString(16).padStart(2, "0")).join(" ").padEnd(48);
    const letters = line.map(octet => (octet > 31 && octet < 127 ? String.fromCharCode(octet) : ".")).join("");
    made.push(start.toString(16).padStart(6, "0") + "  " + numbers + " " + letters);
  }
  return made.join("\n");
}

async function showContent() {
  if (!lookedAt()) return;
  const path = "/-/content?url=" + encodeURIComponent(lookedAt());
  $("actions").hidden = false;
  try {
    const answer = await fetched(path);
    const type = answer.headers.get("Larder-Content-Type") || "";
    const length = Number(answer.headers.get("Larder-Content-Length") || 0);
    const octets = new Uint8Array(await answer.arrayBuffer());
    let shown;
    if (/^image\//.test(answer.headers.get("Content-Type"))) {
      shown = element("img");
      shown.alt = "What is stored";
      shown.src = path;
    } else {
      shown = element("pre");
      shown.tabIndex = 0;
      try {
        const text = new TextDecoder("utf-8", { fatal: true }).decode(octets);
        if (/\0/.test(text)) throw new TypeError("no text");
        shown.textContent = text;
        if (/json/.test(type)) shown.textContent = JSON.stringify(JSON.parse(text), null, 2);
      } catch (error) {
        if (!(error instanceof SyntaxError)) shown.textContent = dump(octets);
      }
    }
    const note = element("p", `${type || "no type"}, ${bytes(length)} stored`, "quiet");
    $("content").replaceChildren(note, shown);
    $("content").hidden = false;
  } catch (error) {
    $("content").hidden = true;
    lookFailed(error);
  }
}

// MARK: Versions

const seenAt = version => new Date(version.firstSeen).toLocaleString();

// The versions that are kept, each with what compares it to the one that is chosen, at first the latest.
async function showVersions(hasHistory) {
  if (!hasHistory) return;
  const url = lookedAt();
  const { versions } = await ask("/-/versions?url=" + encodeURIComponent(url));
  if (!versions.length || url !== lookedAt()) return;
  const choice = element("select");
  choice.setAttribute("aria-label", "Version to compare with");
  choice.append(...versions.map((version, place) => new Option(seenAt(version), place)));
  const compares = versions.map(version => button("Compare", "link", () => compare(url, version, versions[choice.value])));
  // A version has nothing to differ from itself in.
  const offer = () => compares.forEach((compare, place) => { compare.hidden = place === Number(choice.value); });
  choice.addEventListener("change", offer);
  offer();
  const list = holding("ul", "", ...versions.map((version, place) => holding("li", "",
    element("span", `${seenAt(version)}, ${version.status}, ${bytes(version.bytes)}${version.isCurrent ? ", current" : ""}`),
    compares[place])));
  $("versions").replaceChildren(element("h3", "Versions"), list,
    ...(versions.length < 2 ? [] : [element("span", "Compare with the one of ", "quiet"), choice]));
  $("versions").hidden = false;
}

const byName = (_, value) => (value && typeof value === "object" && !Array.isArray(value)
  ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value);

// The lines of a version's content, JSON with a member to each; nothing where it is no text.
async function linesOf(url, version) {
  const answer = await fetched(`/-/content?url=${encodeURIComponent(url)}&version=${version.version}`,
    token ? { headers: { Authorization: "Bearer " + token } } : {});
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await answer.arrayBuffer());
    if (/\0/.test(text)) return {};
    const made = { plain: text.split("\n") };
    try { made.json = JSON.stringify(JSON.parse(text), byName, 2).split("\n"); } catch (_) { /* as it is */ }
    return made;
  } catch (_) {
    return {};
  }
}

// Every line of both, in order: with a space where both have it, else with - or +.
function difference(before, after) {
  const shortest = Math.min(before.length, after.length);
  let start = 0, end = 0;
  while (start < shortest && before[start] === after[start]) start += 1;
  while (end < shortest - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const marked = (lines, sign) => lines.map(line => [sign, line]);
  const a = before.slice(start, before.length - end), b = after.slice(start, after.length - end);
  const [first, last] = [before.slice(0, start), before.slice(before.length - end)].map(lines => marked(lines, " "));
  if (a.length * b.length > 4e6) return first.concat(marked(a, "-"), marked(b, "+"), last);
  // How many lines have in common what is left of both.
  const width = b.length + 1, common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const at = i * width + j;
      common[at] = a[i] === b[j] ? common[at + width + 1] + 1 : Math.max(common[at + width], common[at + 1]);
    }
  }
  const between = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    const at = i * width + j;
    if (i < a.length && j < b.length && a[i] === b[j]) {
      between.push([" ", a[i]]);
      i += 1;
      j += 1;
    } else if (i < a.length && (j === b.length || common[at + width] >= common[at + 1])) {
      between.push(["-", a[i]]);
      i += 1;
    } else {
      between.push(["+", b[j]]);
      j += 1;
    }
  }
  return first.concat(between, last);
}

// What changed, with three lines around it, and no more than a person reads.
function excerpt(lines) {
  const near = new Set();
  lines.forEach(([sign], at) => {
    for (let other = at - 3; sign !== " " && other <= at + 3; other += 1) near.add(other);
  });
  const names = { "-": ["del", "bad-text"], "+": ["ins", "good-text"], " ": ["span", ""] };
  const made = [];
  lines.forEach(([sign, line], at) => {
    const [name, style] = names[sign];
    if (near.has(at)) made.push(element(name, sign + " " + line + "\n", style));
    else if (near.has(at + 1) || !at) made.push(element("span", "⋯\n", "quiet"));
  });
  return made.slice(0, 2000);
}

async function compare(url, one, other) {
  const [old, young] = one.version < other.version ? [one, other] : [other, one];
  const note = element("p", `From ${seenAt(old)} to ${seenAt(young)}`, "quiet");
  $("difference").replaceChildren(note);
  $("difference").hidden = false;
  if (old.digest === young.digest) { note.textContent = "The same content."; return; }
  try {
    const [a, b] = await Promise.all([linesOf(url, old), linesOf(url, young)]);
    if (!a.plain || !b.plain) { note.textContent += ": other octets, which are no text."; return; }
    let lines = difference(a.json && b.json ? a.json : a.plain, a.json && b.json ? b.json : b.plain);
    if (lines.every(([sign]) => sign === " ")) lines = difference(a.plain, b.plain);
    const shown = holding("pre", "", ...excerpt(lines));
    shown.tabIndex = 0;
    $("difference").append(shown);
  } catch (error) {
    // What the origin sent before a pipeline removed some of it is for those who may change things.
    note.textContent = error.status === 403 && !token
      ? "The content of these versions is shown to those with the admin token: “Unlock changes”." : error.message;
  }
}

// MARK: Changes

async function openTokenForm(isOpen) {
  $("token-form").hidden = !isOpen;
  $("unlock").setAttribute("aria-expanded", String(isOpen));
  if (!isOpen) return;
  $("token").focus();
  try {
    const { hasToken } = await ask("/-/permission");
    $("token").disabled = !hasToken;
    $("token-note").textContent = hasToken ? "" : "No admin.token is set, so that none can be right.";
  } catch (error) {
    $("token-note").textContent = error.message;
  }
}

function useToken(text) {
  token = text;
  $("unlock").textContent = token ? "Lock changes" : "Unlock changes";
}

async function change(action) {
  if (!lookedAt()) return;
  await unlocking;
  if (!token) {
    $("done").textContent = "Changes take the admin token.";
    openTokenForm(true);
    return;
  }
  if (action === "wipe" && !confirm("Forget all that is stored for " + lookedAt() + "?")) return;
  try {
    const answer = await (await fetched("/-/resource/" + action + "?url=" + encodeURIComponent(lookedAt()),
      { method: "POST", headers: { Accept: "application/json", Authorization: "Bearer " + token } })).json();
    const done = { load: answer.result,
      invalidate: answer.invalidated ? "out of date now" : answer.unchanged ? "out of date already" : "nothing was stored",
      wipe: answer.wiped ? "wiped" : "nothing was stored" };
    await explain();
    $("done").textContent = done[action];
    list();
  } catch (error) {
    $("done").textContent = error.status === 403 ? "That is not the admin token any more." : error.message;
    if (error.status === 403) { useToken(""); openTokenForm(true); }
  }
}

$("explain").addEventListener("submit", event => { event.preventDefault(); explain(); });
$("show").addEventListener("click", showContent);
$("unlock").addEventListener("click", () => {
  if (token) { useToken(""); return; }
  openTokenForm($("token-form").hidden);
});
async function tryToken(text) {
  try {
    const answer = await fetch("/-/permission", { headers: { Authorization: "Bearer " + text } });
    if (!answer.ok || !(await answer.json()).mayChange) throw new Error("That is not the admin token.");
  } catch (error) {
    $("token-note").textContent = error.message;
    $("token").select();
    return;
  }
  $("token-note").textContent = "";
  useToken(text);
  $("token").value = "";
  openTokenForm(false);
  $("unlock").focus();
}

$("token-form").addEventListener("submit", event => {
  event.preventDefault();
  unlocking = tryToken($("token").value.trim());
});
for (const made of $("actions").querySelectorAll("button")) {
  made.addEventListener("click", () => change(made.dataset.action));
}
