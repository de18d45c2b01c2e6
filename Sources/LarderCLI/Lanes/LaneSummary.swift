// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP

/// The outcomes of a lane's requests, for people and for files.
struct LaneSummary {
    let json: JSONValue

    /// The command's name, without its folders.
    let command: String
    /// True if the requests that stored responses could not answer are listed.
    var listsMissing = false

    var missed: Int { json["missed"]?.int ?? 0 }

    var lines: [String] {
        let requests = json["requests"]?.int ?? 0
        // The hit ratio of `larder status` also counts responses that the origin did not have to send.
        let asked = ["validated", "collapsed"].reduce(0) { $0 + (json["outcomes"]?[$1]?.int ?? 0) }
        let hits = (json["hits"]?.int ?? 0) + asked
        guard requests > 0 || !tunnels.isEmpty else {
            let reason =
                hint ?? "the command asked nothing, reads no proxy variables, or asked this machine alone, which "
                + "`no_proxy` exempts"
            return ["no requests came through Larder: \(reason)"] + recordingLines
        }
        var lines: [String] = []
        let share = requests > 0 ? " (\(Quantity.percent(Double(hits) / Double(requests))))" : ""
        let saved = json["bytes"]?["saved"]?.int ?? 0
        let sent = json["bytes"]?["sent"]?.int ?? 0
        let seconds = json["secondsSaved"]?.double ?? 0
        let time = seconds >= 0.001 ? ", and about \(Quantity.seconds(seconds))" : ""
        let validated = asked > 0 ? ", for \(asked) of which an origin was asked" : ""
        let savings = saved > 0 ? "; \(Quantity.bytes(saved)) of \(Quantity.bytes(sent)) saved\(time)" : ""
        lines.append("\(Quantity.plural(requests, "request")), \(hits) from the cache\(share)\(validated)\(savings)")
        lines += recordingLines + missingLines
        if let stored = json["stored"]?.int, stored > 0, hits == 0 {
            lines.append("stored: \(Quantity.plural(stored, "response")), for the next run")
        }
        for line in (json["uncacheable"]?.array ?? []).prefix(3) {
            let count = line["requests"]?.int ?? 0
            lines.append(
                "not stored: \(Quantity.plural(count, "response")), as \(Outline.printable(line["why"]?.string ?? "?")) "
                    + "(from \(Outline.printable(line["example"]?.string ?? "?")))")
        }
        lines += presetLines
        for line in tunnels.prefix(3) {
            let host = Outline.printable(line["host"]?.string ?? "?")
            lines.append(
                "passed unseen: \(Quantity.plural(line["requests"]?.int ?? 0, "tunnel")) to \(host), as "
                    + Outline.printable(line["why"]?.string ?? "?"))
        }
        if let hint, json["tunnels"]?.array?.contains(where: { $0["reason"]?.string == "refused" }) ?? false {
            lines.append(hint)
        }
        return lines
    }

    /// Which recording stays instead of this command's, which has no requests; nil where this one is kept.
    var notRecorded: String? {
        guard let recording = json["recording"], let kept = recording["keptRequests"]?.int else { return nil }
        return "not recorded as \(recording["name"]?.string ?? "?"): no request came that could be, so the recording "
            + "of that name with \(Quantity.plural(kept, "request")) is kept"
    }

    private var recordingLines: [String] {
        guard let recording = json["recording"], let name = recording["name"]?.string else { return [] }
        let count = Quantity.plural(recording["requests"]?.int ?? 0, "request")
        if recording["isReplayed"]?.bool ?? false {
            return ["replayed from \(name), which has \(count)"] + lacking(in: recording)
        }
        let omitted = recording["omitted"]?.int ?? 0
        return [notRecorded ?? "recorded as \(name): \(count)"]
            + (omitted > 0
                ? ["not recorded: \(Quantity.plural(omitted, "request")), cut off, upgraded or too large"] : [])
    }

    /// The requests of a replay that were not recorded, with the first of them.
    private func lacking(in recording: JSONValue) -> [String] {
        list("not in the recording", recording["lacking"], recording["firstLacking"], ", answered 504")
    }

    private var missingLines: [String] {
        guard listsMissing, json["recording"]?["isReplayed"]?.bool != true else { return [] }
        return list("not in the cache", json["missing"]?["requests"], json["missing"]?["first"])
    }

    private func list(_ title: String, _ requests: JSONValue?, _ examples: JSONValue?, _ end: String = "") -> [String] {
        guard let count = requests?.int, count > 0 else { return [] }
        let first = (examples?.array ?? []).compactMap(\.string)
        let rest = count > first.count ? ["  …"] : []
        return ["\(title): \(Quantity.plural(count, "request"))\(end)"] + first.map { "  " + Outline.printable($0) }
            + rest
    }

    /// The presets for hosts that no service of the daemon covers.
    private var presetLines: [String] {
        var counts: [(preset: String, host: String, requests: Int)] = []
        for line in json["otherHosts"]?.array ?? [] {
            guard let host = line["host"]?.string, let preset = Preset.of(host: host) else { continue }
            let requests = line["requests"]?.int ?? 0
            if let index = counts.firstIndex(where: { $0.preset == preset.name }) {
                counts[index].requests += requests
            } else {
                counts.append((preset.name, host, requests))
            }
        }
        return counts.prefix(3).map { preset, host, requests in
            "`services: { \(preset): { preset: \(preset) } }` in the daemon's configuration would keep what \(host) sends "
                + "(\(Quantity.plural(requests, "request")))"
        }
    }

    /// How to make a program that ignores the usual variables use the lane.
    private var hint: String? {
        switch command {
        case "node", "npx", "tsx":
            "fetch of Node before 24 reads no proxy variables; there, use EnvHttpProxyAgent of undici"
        case "chromium", "chromium-browser", "google-chrome", "chrome":
            "Chromium takes `--proxy-server=$LARDER_PROXY`, and trusts the CA once `larder trust` has installed it"
        case "firefox": "Firefox has settings of its own for the proxy, and for the CA (`larder trust`)"
        case "java", "mvn", "gradle", "kotlin", "scala":
            "a JVM whose program sets a proxy, or whom it trusts, by itself cannot be told otherwise"
        case "docker", "podman": "a container sees nothing of this command's variables: pass them on with `--env`"
        case "sudo", "su", "doas": "\(command) drops variables: put `larder run` behind it"
        case "snap", "flatpak": "\(command) keeps programs from files elsewhere, such as the certificates"
        case "go": "programs in Go never use a proxy for localhost and loopback addresses"
        default: nil
        }
    }

    func write(to path: String) throws {
        try ExportedFile.write(Array((json.description + "\n").utf8), to: path, isPrivate: false)
    }

    private var tunnels: [JSONValue] { json["tunnels"]?.array ?? [] }
}
