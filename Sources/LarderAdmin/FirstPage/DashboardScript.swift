// SPDX-License-Identifier: Apache-2.0

/// What the dashboard does: asks for the status each second while it is looked at, and for one URL when told to. What
/// happens to resources it is told as it happens (`DashboardLiveScript`).
///
/// Everything that comes from elsewhere is put in as text, never as markup.
enum DashboardScript {
    static let text = base + DashboardLiveScript.text + start

    private static let base = #"""
        "use strict";
        const $ = id => document.getElementById(id);
        const history = [];
        let last = null;

        const count = n => Number(n || 0).toLocaleString("en").replaceAll(",", "\u2009");
        const bytes = n => {
          const units = ["B", "KiB", "MiB", "GiB", "TiB"];
          let unit = 0;
          while (n >= 1024 && unit < units.length - 1) { n /= 1024; unit += 1; }
          return (unit ? n.toFixed(1) : n) + "\u00a0" + units[unit];
        };
        const span = s => {
          const sign = s < 0 ? "-" : "";
          s = Math.abs(Math.floor(s));
          for (const [worth, name] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
            if (s >= worth) return sign + Math.floor(s / worth) + "\u00a0" + name;
          }
          return sign + s + "\u00a0s";
        };
        const milliseconds = n => (n < 10 ? n.toFixed(2) : n < 100 ? n.toFixed(1) : Math.round(n)) + "\u00a0ms";
        const percent = r => (r * 100).toFixed(r > 0 && r < 0.0995 ? 1 : 0) + "\u00a0%";

        function element(name, text, style) {
          const made = document.createElement(name);
          if (text !== undefined && text !== null) made.textContent = text;
          if (style) made.className = style;
          return made;
        }

        function rows(table, lines, otherwise) {
          const body = $(table).tBodies[0];
          const made = lines.map(cells => {
            const row = document.createElement("tr");
            for (const cell of cells) row.append(cell instanceof Node ? cell : element("td", cell));
            return row;
          });
          if (!made.length) {
            const cell = element("td", otherwise, "quiet");
            cell.colSpan = $(table).tHead.rows[0].cells.length;
            const row = document.createElement("tr");
            row.append(cell);
            made.push(row);
          }
          body.replaceChildren(...made);
        }

        function draw() {
          const slots = 120, width = 600 / slots, height = 120;
          const peak = Math.max(1, ...history.map(h => h.hits + h.misses + h.errors));
          const bars = [];
          history.forEach((point, index) => {
            let top = height;
            for (const kind of ["hits", "misses", "errors"]) {
              const tall = point[kind] / peak * (height - 4);
              if (tall <= 0) continue;
              top -= tall;
              const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
              bar.setAttribute("class", kind);
              bar.setAttribute("x", (slots - history.length + index) * width);
              bar.setAttribute("y", top);
              bar.setAttribute("width", width - 1);
              bar.setAttribute("height", tall);
              bars.push(bar);
            }
          });
          $("chart").replaceChildren(...bars);
          $("peak").textContent = "peak " + count(Math.round(peak)) + " a second, two minutes";
        }

        function show(status) {
          const r = status.requests;
          const served = r.hit + r.stale + r.validated + r.collapsed;
          const now = performance.now();
          const totals = { hits: served, misses: r.miss + r.pass, errors: r.error };
          if (last) {
            const seconds = Math.max(0.2, (now - last.at) / 1000);
            const point = {};
            for (const kind of Object.keys(totals)) point[kind] = Math.max(0, totals[kind] - last[kind]) / seconds;
            history.push(point);
            if (history.length > 120) history.shift();
            const rate = point.hits + point.misses + point.errors;
            $("rate").textContent = (rate < 10 && rate > 0 ? rate.toFixed(1) : count(Math.round(rate))) + "/s";
          }
          last = { at: now, ...totals };
          draw();

          $("version").textContent = status.version;
          $("state").textContent = status.state;
          $("state").className = "badge " + (status.state === "serving" ? "good" : "bad");
          $("uptime").textContent = "up " + span(status.uptimeSeconds);
          $("hit-ratio").textContent = percent(status.hitRatio);
          $("hit-note").textContent = count(served) + " of " + count(served + r.miss) + " that could be";
          $("rate-note").textContent = count(served + r.miss + r.pass + r.error) + " in all, " + count(status.connections.open) + " connections";
          $("saved").textContent = bytes(status.bytes.saved);
          $("saved-note").textContent = percent(status.byteHitRatio) + " of all content";
          $("latency").textContent = milliseconds(status.latencyMilliseconds.p50);
          $("latency-note").textContent = "median; 99 %: " + milliseconds(status.latencyMilliseconds.p99);
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
            + (status.store.entries === undefined ? "" : ", " + count(status.store.entries) + " responses");
          $("store").className = status.store.state.startsWith("reading only") ? "bad-text" : "quiet";
          $("resources-note").textContent = count(status.resources) + " in memory";

          rows("services", status.services.map(service => {
            const link = element("a", service.mount);
            link.href = service.mount;
            const cell = element("td");
            cell.append(link);
            return [cell, element("td", service.baseURL + (service.offline ? " (offline)" : ""), "long")];
          }), "None yet: describe one in the configuration.");
          const unseen = status.interception.tunnels.filter(line => line.lasts);
          $("unseen").hidden = !unseen.length;
          rows("tunnels", unseen.map(line => [
            element("td", line.host, "long"), element("td", count(line.requests), "number"),
            element("td", bytes(line.bytes), "number"), element("td", line.why),
            element("td", line.toChangeThat.join("  or  "), "long quiet"),
          ]), "Nothing.");
          rows("origins", status.upstreams.map(line => [
            element("td", line.origin, "long"), element("td", count(line.requests), "number"),
            element("td", count(line.failures), "number" + (line.failures ? " warn-text" : "")),
            element("td", line.active + " + " + line.idle + " idle", "number"), element("td", count(line.waiting), "number"),
            element("td", ({ open: "left alone; ", halfOpen: "being tried; ", paused: "asks to wait; " }[line.state] || "") + (line.lastError || ""), "long quiet"),
          ]), "None has been asked yet.");
        }

        async function ask(path, accept) {
          const answer = await fetch(path, { headers: { Accept: accept || "application/json" }, cache: "no-store" });
          const text = await answer.text();
          if (!answer.ok) {
            let words = text;
            try { const problem = JSON.parse(text); words = problem.detail + " " + problem.advice; } catch (_) { /* as it is */ }
            throw new Error(words);
          }
          return text;
        }

        async function refresh() {
          if (!document.hidden) {
            age();
            try {
              show(JSON.parse(await ask("/-/status")));
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

        // Ages and lifetimes go on by themselves; nobody has to be asked about them.
        let clocks = [];
        function age() {
          for (const { line, at, state, age, ttl } of clocks) {
            const passed = Math.floor((performance.now() - at) / 1000);
            if (line.age !== undefined) age.textContent = span(line.age + passed);
            if (line.ttl === undefined || line.ttl === null) continue;
            ttl.textContent = span(line.ttl - passed);
            if (state.textContent === "fresh" && line.ttl - passed < 0) {
              state.textContent = "stale";
              state.className = "warn-text";
            }
          }
        }

        async function list() {
          const match = $("match").value.trim();
          try {
            const page = JSON.parse(await ask("/-/resources?limit=50" + (match ? "&match=" + encodeURIComponent(match) : "")));
            clocks = [];
            rows("resources", page.resources.map(line => {
              const style = { fresh: "good-text", failed: "bad-text" }[line.state] || "warn-text";
              const link = element("button", line.url, "link");
              link.type = "button";
              link.addEventListener("click", () => { $("url").value = line.url; explain(); $("explain").scrollIntoView({ block: "center" }); });
              const cell = element("td", null, "long");
              cell.append(link);
              const clock = { line, at: performance.now(), state: element("td", line.state, style),
                age: element("td", null, "number"), ttl: element("td", null, "number") };
              clocks.push(clock);
              return [
                clock.state, element("td", line.status, "number"),
                element("td", line.bytes === undefined ? "" : bytes(line.bytes), "number"),
                clock.age, clock.ttl, element("td", line.where), cell,
              ];
            }), match ? "Nothing matches." : "Nothing is stored yet.");
            age();
          } catch (error) {
            rows("resources", [], error.message);
          }
        }

        async function look(path, accept) {
          $("outcome").hidden = true;
          $("explanation").hidden = false;
          $("explanation").textContent = "…";
          try {
            $("explanation").textContent = await ask(path + encodeURIComponent($("url").value.trim()), accept);
          } catch (error) {
            $("explanation").hidden = true;
            $("outcome").hidden = false;
            $("outcome").textContent = error.message;
          }
        }
        const explain = () => look("/-/explain?url=", "text/plain");

        """#

    private static let start = #"""
        $("explain").addEventListener("submit", event => { event.preventDefault(); explain(); });
        $("show").addEventListener("click", () => { if ($("url").value.trim()) look("/-/resources?url="); });
        $("filter").addEventListener("submit", event => { event.preventDefault(); happened.length = 0; list(); listen(); });
        $("any-host").textContent = location.origin + "/https/example.com/";
        refresh();
        list();
        listen();
        document.addEventListener("visibilitychange", () => { if (!document.hidden) list(); listen(); });

        """#
}
