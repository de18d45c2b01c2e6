// SPDX-License-Identifier: Apache-2.0
// Words and numbers for people, and what puts them on the page: as text, never as markup.
"use strict";

const $ = id => document.getElementById(id);

const count = n => Number(n || 0).toLocaleString("en").replaceAll(",", "\u2009");
// At most one decimal, and none that is 0, as the command line writes numbers.
const decimal = n => n.toFixed(1).replace(/\.0$/, "");
const bytes = n => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (n >= 1024 && unit < units.length - 1) { n /= 1024; unit += 1; }
  return (unit ? decimal(n) : n) + "\u00a0" + units[unit];
};
const span = s => {
  const sign = s < 0 ? "-" : "";
  s = Math.abs(Math.floor(s));
  for (const [worth, name] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
    if (s >= worth) return sign + Math.floor(s / worth) + "\u00a0" + name;
  }
  return sign + s + "\u00a0s";
};
const digits = n => (n < 10 ? decimal(n) : String(Math.round(n)));
const latency = seconds => {
  if (!seconds) return "–";
  if (seconds < 0.001) return digits(seconds * 1e6) + "\u00a0µs";
  return seconds < 1 ? digits(seconds * 1e3) + "\u00a0ms" : digits(seconds) + "\u00a0s";
};
const percent = r => (r > 0 && r < 0.0995 ? decimal(r * 100) : (r * 100).toFixed(0)) + "\u00a0%";
// Below a tenth of a request in a second by the minute, below a tenth of that by the hour.
const rateText = r => {
  if (r >= 10 || r <= 0) return count(Math.round(r)) + "/s";
  if (r >= 0.1) return decimal(r) + "/s";
  return r * 60 >= 0.1 ? decimal(r * 60) + "/min" : decimal(r * 3600) + "/h";
};

function element(name, text, style) {
  const made = document.createElement(name);
  if (text !== undefined && text !== null) made.textContent = text;
  if (style) made.className = style;
  return made;
}

// A node around what is given: nodes, or texts.
function holding(name, style, ...parts) {
  const made = element(name, null, style);
  made.append(...parts.filter(part => part !== null && part !== undefined));
  return made;
}

// The nodes of a sentence: what stands between backticks is code.
const sentence = text => text.split("`").map((part, number) => number % 2 ? element("code", part) : part);

function button(text, style, action) {
  const made = element("button", text, style);
  made.type = "button";
  made.addEventListener("click", action);
  return made;
}

function rows(table, lines, otherwise) {
  const body = $(table).tBodies[0], names = $(table).tHead.rows[0].cells;
  const made = lines.map(cells => {
    const row = document.createElement("tr");
    for (const cell of cells) row.append(cell instanceof Node ? cell : element("td", cell));
    // On narrow screens, where lines stand for rows, each value has its name beside it.
    [...row.cells].forEach((cell, number) => { cell.dataset.name = names[number].textContent; });
    return row;
  });
  if (!made.length) {
    const cell = element("td", otherwise, "quiet");
    cell.colSpan = names.length;
    made.push(holding("tr", "", cell));
  }
  keepFocus(body, () => body.replaceChildren(...made));
}

// Whoever went somewhere by keyboard stays there when what is shown is made anew.
function keepFocus(place, change) {
  const focused = place.contains(document.activeElement) ? document.activeElement : null;
  const top = place.parentElement.scrollTop;
  const text = focused && focused.textContent;
  change();
  place.parentElement.scrollTop = top;
  if (!focused || document.contains(focused)) return;
  const again = [...place.querySelectorAll("button, a")].find(other => other.textContent === text);
  if (again) again.focus({ preventScroll: true });
}

// What the daemon answers; an error with its words where it does not.
async function fetched(path, options) {
  const answer = await fetch(path, { cache: "no-store", ...options });
  if (answer.ok) return answer;
  const text = await answer.text();
  let words = text;
  try { const problem = JSON.parse(text); words = problem.detail + " " + problem.advice; } catch (_) { /* as it is */ }
  const error = new Error(words);
  error.status = answer.status;
  throw error;
}
const ask = async path => (await fetched(path, { headers: { Accept: "application/json" } })).json();
