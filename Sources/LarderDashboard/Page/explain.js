// SPDX-License-Identifier: Apache-2.0
// One URL: why it is answered as it is, what is stored of it, and what may be done with it.
"use strict";

let token = "";

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
  return holding("ul", "", ...list.map(text => element("li", text)));
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
  $("outcome").textContent = answer.outcome;
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
  $("outcome").textContent = error.message;
  $("explanation").hidden = true;
}

const lookedAt = () => $("url").value.trim();

async function explain() {
  if (!lookedAt()) return;
  $("content").hidden = true;
  $("actions").hidden = false;
  $("done").textContent = "";
  try {
    const method = $("method").value;
    const tried = method === "GET" ? "" : "&method=" + method;
    showExplanation(await ask("/-/explain?url=" + encodeURIComponent(lookedAt()) + tried));
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

// MARK: Changes

function openTokenForm(isOpen) {
  $("token-form").hidden = !isOpen;
  $("unlock").setAttribute("aria-expanded", String(isOpen));
  if (isOpen) $("token").focus();
}

function useToken(text) {
  token = text;
  $("unlock").textContent = token ? "Lock changes" : "Unlock changes";
}

async function change(action) {
  if (!lookedAt()) return;
  if (!token) {
    $("done").textContent = "Changes take the admin token.";
    openTokenForm(true);
    return;
  }
  try {
    const answer = await (await fetched("/-/resource/" + action + "?url=" + encodeURIComponent(lookedAt()),
      { method: "POST", headers: { Accept: "application/json", Authorization: "Bearer " + token } })).json();
    const done = { load: answer.result, invalidate: answer.invalidated ? "out of date now" : "nothing was stored",
      wipe: answer.wiped ? "wiped" : "nothing was stored" };
    await explain();
    $("done").textContent = done[action];
    list();
  } catch (error) {
    $("done").textContent = error.message;
    if (error.status === 403) { useToken(""); openTokenForm(true); }
  }
}

$("explain").addEventListener("submit", event => { event.preventDefault(); explain(); });
$("show").addEventListener("click", showContent);
$("unlock").addEventListener("click", () => {
  if (token) { useToken(""); return; }
  openTokenForm($("token-form").hidden);
});
$("token-form").addEventListener("submit", event => {
  event.preventDefault();
  useToken($("token").value.trim());
  $("token").value = "";
  openTokenForm(false);
  $("unlock").focus();
});
for (const made of $("actions").querySelectorAll("button")) {
  made.addEventListener("click", () => change(made.dataset.action));
}
