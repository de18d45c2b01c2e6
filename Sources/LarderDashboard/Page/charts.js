// SPDX-License-Identifier: Apache-2.0
// Pictures of the daemon's history, and of what each service did.
"use strict";

const svgSpace = "http://www.w3.org/2000/svg";

function shape(name, attributes, title) {
  const made = document.createElementNS(svgSpace, name);
  for (const key of Object.keys(attributes)) made.setAttribute(key, attributes[key]);
  if (title) {
    const note = document.createElementNS(svgSpace, "title");
    note.textContent = title;
    made.append(note);
  }
  return made;
}

function canvas(svg, width, height, shapes) {
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.replaceChildren(...shapes);
}

// Bars on top of each other. Each part is a class and its values; `slots` bars have room, the last is at the right.
function bars(svg, parts, slots, title, isBare) {
  const length = parts[0].values.length, height = 100, gap = slots > 150 ? 0.1 : 0.2;
  const sums = Array.from({ length }, (_, index) => parts.reduce((sum, part) => sum + part.values[index], 0));
  const peak = Math.max(1, ...sums);
  const shapes = (isBare ? [] : [25, 50, 75]).map(y => shape("line", { class: "grid", x1: 0, x2: slots, y1: y, y2: y }));
  for (let index = 0; index < length; index += 1) {
    if (!sums[index]) continue;
    let top = height;
    const column = shape("g", {}, title && title(index));
    for (const part of parts) {
      const tall = part.values[index] / peak * (height - 3);
      if (tall <= 0) continue;
      top -= tall;
      column.append(shape("rect", {
        class: part.style, x: slots - length + index + gap / 2, y: top, width: 1 - gap, height: tall,
      }));
    }
    shapes.push(column);
  }
  canvas(svg, slots, height, shapes);
  return peak;
}

// Lines over the same span; where a value is null there is none.
function lines(svg, parts, slots, scale, hasArea) {
  const height = 100, shapes = [50].map(y => shape("line", { class: "grid", x1: 0, x2: slots, y1: y, y2: y }));
  for (const { style, values } of parts) {
    const first = slots - values.length;
    let run = [];
    const flush = () => {
      if (!run.length) return;
      const points = run.length > 1 ? run : [[run[0][0] - 0.5, run[0][1]], [run[0][0] + 0.5, run[0][1]]];
      const text = points.map(point => point.join(",")).join(" ");
      if (hasArea) {
        const ends = `${points[points.length - 1][0]},${height} ${points[0][0]},${height}`;
        shapes.push(shape("polygon", { class: "hit-area", points: `${text} ${ends}` }));
      }
      shapes.push(shape("polyline", { class: style, points: text }));
      run = [];
    };
    values.forEach((value, index) => {
      if (value === null) flush();
      else run.push([first + index + 0.5, height - 3 - scale(value) * (height - 6)]);
    });
    flush();
  }
  canvas(svg, slots, height, shapes);
}

// What the height of a picture stands for, and when it begins and ends: small, beside it, and in the way of nothing.
function axes(name, [most, least], [from, to]) {
  const plot = $(name).parentElement;
  plot.dataset.most = most;
  plot.dataset.least = least;
  let times = plot.nextElementSibling;
  if (!times || times.className !== "times") plot.after(times = element("div", "", "times"));
  times.replaceChildren(element("span", from), element("span", to));
}

const lastOf = values => values.findLast(value => value !== null);
const sum = values => values.reduce((sum, value) => sum + value, 0);

function drawHistory(series, isDay) {
  // A daemon that has just been started fills the picture all the same.
  const slots = Math.max(24, series.hits.length), step = series.stepSeconds;
  // There is none before the first value.
  const start = Date.parse(series.from) || Date.now();
  const clock = index => new Date(start + index * step * 1000).toLocaleTimeString([], isDay
    ? { hour: "2-digit", minute: "2-digit" } : { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  // The left edge is that of the first slot, for which there may be no value yet.
  const ends = [clock(series.hits.length - slots), clock(series.hits.length - 1)];
  const peak = bars($("chart"), [
    { style: "hits", values: series.hits }, { style: "misses", values: series.misses },
    { style: "errors", values: series.errors },
  ], slots, index => `${clock(index)}: ${count(series.hits[index])} from the cache, `
    + `${count(series.misses[index])} from the origin, ${count(series.errors[index])} errors`);
  const total = sum(series.hits) + sum(series.misses) + sum(series.errors);
  $("chart-note").textContent = `${count(total)} ${total === 1 ? "request" : "requests"} in the last ${span(series.hits.length * step)}, `
    + `at most ${rateText(total ? peak / step : 0)}`;
  axes("chart", [total ? rateText(peak / step) : "", ""], ends);

  // As in the status: what passes by the cache, as other methods do, is no part of it.
  const cacheable = series.hits.map((hits, index) => hits + series.misses[index] - series.passes[index]);
  const ratio = series.hits.map((hits, index) => (cacheable[index] ? hits / cacheable[index] : null));
  lines($("ratio-chart"), [{ style: "hit-line", values: ratio }], slots, value => value, true);
  axes("ratio-chart", ["100\u00a0%", ""], ends);
  $("ratio-now").textContent = sum(cacheable) ? percent(sum(series.hits) / sum(cacheable)) : "";

  const most = bars($("saved-chart"), [{ style: "hits", values: series.savedBytes }], slots,
    index => `${clock(index)}: ${bytes(series.savedBytes[index])}`);
  const saved = sum(series.savedBytes);
  $("saved-now").textContent = bytes(saved);
  axes("saved-chart", [saved ? `${bytes(most)} in ${span(step)}` : "", ""], ends);

  // From a microsecond up to ten seconds, each decade as wide as the next.
  const logarithmic = value => Math.min(1, Math.max(0, Math.log10(value / 1e-6) / 7));
  const seen = values => values.map(value => (value ? value : null));
  const [fast, slow] = [seen(series.hitMedian), seen(series.loadMedian)];
  lines($("latency-chart"), [{ style: "hit-line", values: fast }, { style: "miss-line", values: slow }], slots,
    logarithmic, false);
  axes("latency-chart", ["10\u00a0s", "1\u00a0µs"], ends);
  $("latency-now").textContent = `${latency(lastOf(fast))} / ${latency(lastOf(slow))}`;
}

// The day of one service, in quarters of an hour.
function sparkline(series) {
  const svg = shape("svg", { class: "spark", role: "img", "aria-label": "Requests in the last 24 h" });
  const none = { hits: [0], others: [0], errors: [0] };
  const { hits, others, errors } = series || none;
  bars(svg, [
    { style: "hits", values: hits }, { style: "misses", values: others }, { style: "errors", values: errors },
  ], Math.max(16, hits.length), null, true);
  return svg;
}
