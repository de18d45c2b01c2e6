// SPDX-License-Identifier: Apache-2.0

/// The dashboard's document. It holds no data: `DashboardScript` asks for them.
enum DashboardMarkup {
    static let text = """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>Larder</title>
        <link rel="icon" href="/-/assets/icon.svg">
        <link rel="stylesheet" href="/-/assets/dashboard.css">
        <script src="/-/assets/dashboard.js" defer></script>
        </head>
        <body>
        <header>
          <img src="/-/assets/icon.svg" alt="" width="28" height="28">
          <h1>Larder</h1>
          <span id="version" class="quiet"></span>
          <span id="state" class="badge" role="status">…</span>
          <span id="uptime" class="quiet"></span>
        </header>
        <noscript><p class="notice">This page needs JavaScript; <a href="/-/status">the status as JSON</a> does not.</p></noscript>
        <p id="trouble" class="notice" hidden></p>
        <main>
        <section class="tiles" aria-label="Overview">
          <div class="tile"><h2>Hit ratio</h2><p id="hit-ratio" class="figure">–</p><p id="hit-note" class="quiet"></p></div>
          <div class="tile"><h2>Requests</h2><p id="rate" class="figure">–</p><p id="rate-note" class="quiet"></p></div>
          <div class="tile"><h2>Saved</h2><p id="saved" class="figure">–</p><p id="saved-note" class="quiet"></p></div>
          <div class="tile"><h2>Latency</h2><p id="latency" class="figure">–</p><p id="latency-note" class="quiet"></p></div>
        </section>
        <section class="card wide">
          <h2>Traffic</h2>
          <svg id="chart" viewBox="0 0 600 120" preserveAspectRatio="none" role="img" aria-label="Requests a second, the last two minutes"></svg>
          <p class="legend"><span class="key hits"></span>from the cache <span class="key misses"></span>from the origin
            <span class="key errors"></span>errors <span id="peak" class="quiet"></span></p>
          <div id="outcomes" class="outcomes"></div>
        </section>
        <section class="card">
          <h2>Room</h2>
          <div class="gauge"><label for="memory">Memory</label><meter id="memory" min="0" max="1"></meter><span id="memory-note" class="quiet"></span></div>
          <div class="gauge"><label for="disk">Disk</label><meter id="disk" min="0" max="1"></meter><span id="disk-note" class="quiet"></span></div>
          <p id="store" class="quiet"></p>
        </section>
        <section class="card">
          <h2>Services</h2>
          <div class="scroll"><table id="services"><thead><tr><th>Gateway</th><th>Origin</th></tr></thead><tbody></tbody></table></div>
          <p class="quiet">Any other host: <code id="any-host"></code></p>
        </section>
        <section class="card wide">
          <h2>Explain a URL</h2>
          <form id="explain">
            <input id="url" type="text" name="url" placeholder="https://example.com/ or /service/path" aria-label="URL"
              autocomplete="off" autocapitalize="off" spellcheck="false" required>
            <button type="submit">Explain</button>
            <button type="button" id="show">Show stored</button>
          </form>
          <p id="outcome" class="outcome" hidden></p>
          <pre id="explanation" hidden></pre>
        </section>
        <section class="card wide">
          <h2>Resources <span id="resources-note" class="quiet"></span></h2>
          <form id="filter"><input id="match" type="text" placeholder="A pattern, as /users/* or **" aria-label="Pattern"
            autocomplete="off" autocapitalize="off" spellcheck="false"><button type="submit">List</button></form>
          <div class="scroll"><table id="resources"><thead><tr><th>State</th><th class="number">Status</th><th class="number">Size</th>
            <th class="number">Age</th><th class="number">Fresh for</th><th>Where</th><th>URL</th></tr></thead><tbody></tbody></table></div>
        </section>
        <section class="card wide">
          <h2>Live <span id="live-note" class="quiet"></span></h2>
          <div class="scroll"><table id="live"><thead><tr><th>Time</th><th>Event</th><th>Now</th><th>URL</th></tr></thead><tbody></tbody></table></div>
        </section>
        <section class="card wide" id="unseen" hidden>
          <h2>Passed unseen <span class="quiet">https that the cache does not see</span></h2>
          <div class="scroll"><table id="tunnels"><thead><tr><th>Host</th><th class="number">Requests</th><th class="number">Size</th>
            <th>Why</th><th>To have it cached</th></tr></thead><tbody></tbody></table></div>
        </section>
        <section class="card wide">
          <h2>Origins</h2>
          <div class="scroll"><table id="origins"><thead><tr><th>Origin</th><th class="number">Requests</th><th class="number">Failures</th>
            <th class="number">Connections</th><th class="number">Waiting</th><th>Last error</th></tr></thead><tbody></tbody></table></div>
        </section>
        </main>
        <footer class="quiet">Read on: <a href="/-/status">status</a> · <a href="/-/metrics">metrics</a> ·
          <a href="/-/resources">resources</a>. Changing things takes the <code>larder</code> command.</footer>
        </body>
        </html>

        """

    /// A jar with a lid.
    static let icon = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect x="8" y="3" width="16" height="5" rx="1.5" fill="#b4632a"/>\
        <path d="M9 9h14c3 2 4 4 4 7v9c0 3-1.500 4-4 4H9c-2.500 0-4-1-4-4v-9c0-3 1-5 4-7z" fill="#e8b04a"/>\
        <rect x="9" y="16" width="14" height="8" rx="1" fill="#fff8e8"/></svg>

        """
}
