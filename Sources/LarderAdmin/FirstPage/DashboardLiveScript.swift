// SPDX-License-Identifier: Apache-2.0

/// What the dashboard does with the stream of events: shows the last ones, and has the list of resources follow them.
/// A page that nobody looks at listens to nothing.
enum DashboardLiveScript {
    static let text = #"""
        const happened = [];
        let source = null, awaited = null, painting = false;

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
          painting = false;
          rows("live", happened.map(({ at, data }) => [
            element("td", at.toLocaleTimeString(), "quiet"),
            element("td", data.event + (data.source ? " (" + data.source + ")" : ""),
              { error: "bad-text", newData: "good-text" }[data.event]),
            element("td", now(data)), element("td", data.url, "long"),
          ]), "Nothing has happened since this page is open.");
        }

        // Many events are one look at the list, and one picture.
        function follow() {
          if (!awaited) awaited = setTimeout(() => { awaited = null; list(); }, 300);
        }
        function repaint() {
          if (!painting) { painting = true; requestAnimationFrame(paint); }
        }

        function tell(data) {
          if (data.event === "observerAdded") { follow(); return; }
          if (!data.url) return;
          const before = happened.findIndex(h => h.data.event === "progress" && h.data.url === data.url);
          if (before >= 0) happened.splice(before, 1);
          happened.unshift({ at: new Date(), data });
          if (happened.length > 40) happened.pop();
          repaint();
          if (data.event !== "progress") follow();
        }

        function listen() {
          if (source) source.close();
          source = null;
          if (document.hidden) return;
          const match = $("match").value.trim();
          source = new EventSource("/-/events" + (match ? "?match=" + encodeURIComponent(match) : ""));
          source.onopen = () => { $("live-note").textContent = match ? "as it happens, of " + match : "as it happens"; };
          source.onmessage = message => tell(JSON.parse(message.data));
          source.onerror = () => {
            $("live-note").textContent = source && source.readyState === EventSource.CLOSED ? "not to be had" : "looking for Larder again";
          };
          repaint();
        }

        """#
}
