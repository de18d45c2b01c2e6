// SPDX-License-Identifier: Apache-2.0

import Glibc
import Larder
import LarderHTTP
import LarderIO
import LarderUpstream

/// Sends requests to a running daemon over its Unix socket, and where this user may not use that, over TCP, which
/// allows reading but no changes.
struct AdminClient {
    var socket: String
    /// The TCP address used instead of the socket, if any.
    var place: TCPPlace?
    /// The other paths at which a socket was looked for.
    var others: [String] = []
    /// True if only TCP is used.
    var isOverTCP = false
    /// The source of the TCP address: `--url`, or `LARDER_URL` of the environment.
    var placeName = "--url"

    /// Seconds that the daemon may be silent. A load may take longer, as long as the daemon answers others.
    var patience = AdminClient.patience
    /// True if a person is told that the daemon is silent.
    var showsSilence = true

    static let patience = 120
    /// The limit on a response.
    static let answerLimit = 256 << 20

    /// A path with parameters, percent-encoded.
    static func target(_ path: String, _ parameters: [(name: String, value: String)]) -> String {
        let query = parameters.map { "\($0.name)=\(PercentText.encoded($0.value))" }.joined(separator: "&")
        return query.isEmpty ? path : "\(path)?\(query)"
    }

    /// Sends a request and returns the content of a successful response; others are thrown, with their message.
    func send(
        _ method: Method, _ target: String, accept: String = "application/json", content: [UInt8] = [],
        type: MediaType? = nil
    ) throws -> [UInt8] {
        try ask(method, target, accept: accept, content: content, type: type).successfulContent()
    }

    /// Sends a request and returns the response with any status.
    func ask(
        _ method: Method, _ target: String, accept: String = "application/json", content: [UInt8] = [],
        type: MediaType? = nil
    ) throws -> AdminAnswer {
        var fields = ["Accept: \(accept)"]
        if let type { fields.append("Content-Type: \(type)") }
        if !method.isSafe { fields.append("Content-Length: \(content.count)") }
        do throws(PlainStream.Failure) {
            let stream = try connect(
                seconds: patience, mayUseTCP: method.isSafe,
                mayOpenLanes: method.isSafe || AdminClient.isAboutLanes(target))
            try stream.send("\(method)", target, fields, content: content)
            let isLoad = AdminClient.isLoad(target)
            let silence =
                isLoad
                ? "no answer yet; a load is waited for until it ends" : "no answer yet; waiting for up to \(patience) s"
            var response = try PlainResponse(on: stream, to: method, telling: showsSilence ? silence : nil) {
                isLoad && isThere
            }
            return advised(try response.answer())
        } catch {
            throw failure(error)
        }
    }

    /// An answer with this command's own advice where the daemon wants its token for what is asked over TCP.
    func advised(_ answer: AdminAnswer) -> AdminAnswer {
        guard isOverTCP, answer.wantsToken else { return answer }
        var answer = answer
        answer.advice =
            (placeName == "--url" ? "leave out `--url`" : "unset \(placeName)")
            + ", as changes go over the daemon's Unix socket"
        return answer
    }

    /// A load lasts as long as its origin takes to respond. The daemon aborts loads from silent origins.
    private static func isLoad(_ target: String) -> Bool { target.hasPrefix("/-/resource/load") }

    /// True if the daemon answers anything now.
    private var isThere: Bool {
        do throws(PlainStream.Failure) {
            let stream = try connect(seconds: 30, mayUseTCP: true)
            try stream.send("GET", "/-/ready", ["Accept: */*"])
            _ = try PlainResponse(on: stream, telling: nil)
            return true
        } catch {
            return false
        }
    }

    private static func isAboutLanes(_ target: String) -> Bool {
        let path = target.prefix { $0 != "?" }
        return path == "/-/lanes" || path.hasPrefix("/-/lanes/")
    }

    /// Connects to the socket; where it is not this user's, to the one on which every user may open lanes and read; and
    /// over TCP where there is none.
    func connect(
        seconds: Int, mayUseTCP: Bool, mayOpenLanes: Bool = true
    ) throws(PlainStream.Failure) -> PlainStream {
        if isOverTCP, let place { return try PlainStream(to: place, seconds: seconds) }
        do throws(PlainStream.Failure) {
            return try PlainStream(path: socket, seconds: seconds)
        } catch {
            if mayOpenLanes, case .connect(let code) = error, [EACCES, EPERM].contains(code) {
                do throws(PlainStream.Failure) {
                    return try PlainStream(path: DefaultPaths.lanes(beside: socket), seconds: seconds)
                } catch {}
            }
            guard mayUseTCP, let place, error.isAboutTheSocket else { throw error }
            do throws(PlainStream.Failure) {
                return try PlainStream(to: place, seconds: seconds)
            } catch {}
            throw error
        }
    }

    func failure(_ failure: PlainStream.Failure) -> CommandFailure {
        let starting =
            "start it with `larder serve` or `systemctl start larder`, or name its socket with `--socket PATH`"
        switch failure {
        case .connect(let code) where isOverTCP:
            return CommandFailure(
                "nobody answers at \(place?.authority ?? "?"): \(String(cString: strerror(code)))", advice: starting)
        case .unknownHost:
            return CommandFailure(
                "there is no host '\(place?.host ?? "?")'", advice: "correct its name in `\(placeName)`")
        case .connect(ENOENT), .connect(ENOTDIR):
            return nobody("there is no socket \(([socket] + others).joined(separator: ", nor "))", starting)
        case .connect(ECONNREFUSED):
            return nobody("nobody answers on \(socket)", starting)
        case .connect(EACCES), .connect(EPERM):
            return CommandFailure(
                "this user may not use \(socket)",
                advice: "run the command as the daemon's user or as root, or "
                    + (UserGroup.writing(to: socket).map {
                        "join the socket's group (`sudo adduser $USER \($0)`, then log in again)"
                    } ?? "let a group have the socket (`admin.socketGroup`, `admin.socketMode: 0660`)"))
        case .connect(let code):
            return CommandFailure("cannot connect to \(socket): \(String(cString: strerror(code)))")
        case .pathTooLong:
            return CommandFailure(
                "the socket's path is too long",
                advice: "at most \(SocketAddress.unixPathLimit) octets are possible: \(socket)")
        case .transfer(EAGAIN), .transfer(EWOULDBLOCK):
            return CommandFailure("the daemon has not answered for \(patience) s", advice: "see its log")
        case .transfer(let code):
            return CommandFailure(
                "the daemon closed the connection: \(String(cString: strerror(code)))", advice: "see its log")
        case .tooLarge: return CommandFailure("the answer is too large", advice: "narrow it with a pattern")
        case .malformed, .endedEarly: return AdminClient.noDaemon
        }
    }

    /// The response is not a daemon's, or not a whole one.
    static let noDaemon = CommandFailure(
        "what answers is not a Larder daemon, or it stopped in the middle", advice: "see its log")

    /// The failure if no socket leads to a daemon. A daemon of another user may still be running.
    private func nobody(_ found: String, _ starting: String) -> CommandFailure {
        guard let place else { return CommandFailure("no daemon is running: \(found)", advice: starting) }
        if let version = RunningDaemon.version(at: place) {
            return CommandFailure(
                "Larder \(version) answers at http://\(place.authority), but \(found)",
                advice: "the command needs that daemon's socket: run it as the user who started the daemon, with its "
                    + "XDG_RUNTIME_DIR, or name the socket with `--socket PATH`")
        }
        return CommandFailure(
            "no daemon is running: \(found), and nobody answers at http://\(place.authority)", advice: starting)
    }
}

/// A response of the daemon: its status and its content.
struct AdminAnswer {
    let status: Int
    let content: [UInt8]
    /// True if the admin token would have to come with the request.
    var wantsToken = false
    /// The next step for this command, where it is another than the daemon's advice.
    var advice: String?

    /// The content of a successful response; else its problem is thrown (RFC 9457).
    func successfulContent() throws -> [UInt8] {
        if (200...299).contains(status) { return content }
        var failure = CommandFailure(problem: try? JSONValue(parsing: content), status: status)
        if let advice { failure.advice = advice }
        throw failure
    }
}
