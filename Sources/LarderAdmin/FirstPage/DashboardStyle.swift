// SPDX-License-Identifier: Apache-2.0

/// How the dashboard looks, in light and dark.
enum DashboardStyle {
    static let text = """
        :root {
          --page: #f6f4ef; --card: #ffffff; --ink: #24211c; --quiet: #6d675c; --line: #e4dfd4;
          --hit: #3f8f5f; --miss: #c98a2b; --error: #c0453a; --accent: #9a5420;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --page: #191714; --card: #24211d; --ink: #ece7dd; --quiet: #a39b8c; --line: #3a352e;
            --hit: #62b884; --miss: #dba550; --error: #e4776c; --accent: #e0a06a;
          }
        }
        * { box-sizing: border-box; }
        body { margin: 0 auto; max-width: 72rem; padding: 1rem 1.25rem 2rem; background: var(--page); color: var(--ink);
          font: 15px/1.45 system-ui, sans-serif; }
        header { display: flex; align-items: center; gap: .6rem; flex-wrap: wrap; margin-bottom: 1rem; }
        h1 { font-size: 1.3rem; margin: 0; }
        h2 { font-size: .8rem; font-weight: 600; letter-spacing: .04em; margin: 0 0 .5rem; color: var(--quiet); text-transform: uppercase; }
        h2 .quiet { text-transform: none; letter-spacing: 0; font-weight: 400; }
        p { margin: .25rem 0; }
        a { color: var(--accent); }
        code, pre { font: 13px/1.45 ui-monospace, monospace; }
        .quiet { color: var(--quiet); font-size: .85rem; }
        .badge { border-radius: 1rem; padding: .05rem .6rem; font-size: .8rem; background: var(--line); }
        .badge.good { background: var(--hit); color: var(--card); }
        .badge.bad { background: var(--error); color: var(--card); }
        .notice { border-left: 4px solid var(--error); background: var(--card); padding: .5rem .8rem; }
        main { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }
        .wide, .tiles { grid-column: 1 / -1; }
        .tiles { display: grid; grid-template-columns: repeat(4, 1fr); gap: 1rem; }
        .tile, .card { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .8rem 1rem; min-width: 0; }
        .figure { font-size: 1.9rem; font-weight: 600; line-height: 1.15; font-variant-numeric: tabular-nums; }
        #chart { width: 100%; height: 7.5rem; display: block; border-bottom: 1px solid var(--line); }
        #chart .hits { fill: var(--hit); } #chart .misses { fill: var(--miss); } #chart .errors { fill: var(--error); }
        .key { display: inline-block; width: .7rem; height: .7rem; border-radius: 2px; margin: 0 .3rem 0 .8rem; }
        .legend { font-size: .85rem; } .legend .key:first-child { margin-left: 0; }
        .key.hits { background: var(--hit); } .key.misses { background: var(--miss); } .key.errors { background: var(--error); }
        .outcomes { display: flex; flex-wrap: wrap; gap: .3rem 1.4rem; margin-top: .5rem; font-variant-numeric: tabular-nums; }
        .outcomes b { font-weight: 600; }
        .gauge { display: grid; grid-template-columns: 5rem 1fr; gap: .1rem .6rem; align-items: center; margin-bottom: .5rem; }
        .gauge .quiet { grid-column: 2; }
        meter { width: 100%; height: .9rem; }
        .scroll { overflow-x: auto; }
        table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
        th { text-align: left; font-weight: 600; color: var(--quiet); font-size: .8rem; }
        th, td { padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; white-space: nowrap; }
        td.long { white-space: normal; overflow-wrap: anywhere; }
        tbody tr:last-child td { border-bottom: 0; }
        .number { text-align: right; }
        .good-text { color: var(--hit); } .warn-text { color: var(--miss); } .bad-text { color: var(--error); }
        form { display: flex; gap: .5rem; margin-bottom: .6rem; }
        input { flex: 1; min-width: 0; padding: .4rem .6rem; border: 1px solid var(--line); border-radius: .4rem; background: var(--page);
          color: var(--ink); font: inherit; }
        button { padding: .4rem .9rem; border: 1px solid var(--accent); border-radius: .4rem; background: var(--accent); color: var(--card);
          font: inherit; cursor: pointer; }
        button[type=button] { background: transparent; color: var(--accent); }
        button.link { border: 0; padding: 0; background: none; color: var(--accent); text-align: left; overflow-wrap: anywhere; }
        .outcome { font-weight: 600; }
        pre { margin: .5rem 0 0; padding: .8rem; background: var(--page); border-radius: .4rem; overflow-x: auto; white-space: pre-wrap;
          overflow-wrap: anywhere; }
        footer { margin-top: 1.2rem; }
        @media (max-width: 48rem) {
          main { grid-template-columns: 1fr; } .tiles { grid-template-columns: 1fr 1fr; } form { flex-wrap: wrap; }
        }

        """
}
