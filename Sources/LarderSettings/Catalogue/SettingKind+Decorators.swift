// SPDX-License-Identifier: Apache-2.0

package import Larder
import LarderHTTP

extension DenyRule: SettingsRoot {}
extension RespondRule: SettingsRoot {}
extension RetryRule: SettingsRoot {}

extension SettingsCatalogue {
    static let deny = SettingsSection<DenyRule>([
        Setting("status", \.status, .status(400...599), "The status of the answer."),
        Setting("message", \.message, .line(upTo: 500), "The text of the answer, in its `detail`."),
    ])

    static let respond = SettingsSection<RespondRule>([
        Setting("status", \.status, .status(200...599), "The status of the answer."),
        Setting("headers", \.fields, .headers, initially: "none", "Fields of the answer."),
        Setting(
            "body", \.body, .content, initially: "empty",
            "The content of the answer; `${file:/path}` is that of a file, as it was when the configuration was read."),
    ])

    static let retry = SettingsSection<RetryRule>([
        Setting(
            "attempts", \.attempts, .integer(2...10), "How often a request is made, the first time included."),
        Setting(
            "backoff", \.backoff, .duration(.milliseconds(1)...Duration.seconds(60)),
            """
            How long to wait before the second time; each further wait is twice as long. Up to half of a wait is \
            left to chance, and `Retry-After` is heeded.
            """),
        Setting(
            "maxBackoff", \.maxBackoff, .duration(.milliseconds(1)...Duration.seconds(300)), "The longest wait."),
        Setting(
            "within", \.within, .duration(.milliseconds(10)...Duration.seconds(86_400)),
            initially: "`timeouts.upstream`",
            """
            How long all attempts and waits may take together, until the response begins. What is left of it bounds each \
            attempt.
            """),
        Setting(
            "on", \.on, .list(of: .retryCause, count: 1...50), initially: "`[unreachable, 502, 503, 504]`",
            "The reasons to repeat a request: statuses from 400 to 599, and `unreachable`, when no response came."),
    ])

    /// The decorators of a block.
    static let decorators: [Setting<ConfigureBlock>] = [
        Setting(
            "decorate.deny", \.decorate.deny,
            SettingKind.section("map of status and message", deny, expected: "a map with `status` and `message`")
                .revocable,
            initially: "none", inside: deny.descriptions,
            "Requests that are refused: nothing is looked up, and the origin is not asked. Spellings that many origins "
                + "take for the same path are refused, too: empty segments, coded slashes, backslashes, `;` parameters, "
                + "needless escapes. Methods count in any case, and GET with HEAD. The case of the path does matter."
        ),
        Setting(
            "decorate.respond", \.decorate.respond,
            SettingKind.section(
                "map of status, headers and body", respond, expected: "a map with `status`, `headers` and `body`"
            )
            .revocable,
            initially: "none", inside: respond.descriptions,
            "Requests that get this response: nothing is looked up, and the origin is not asked."),
        Setting(
            "decorate.delay", \.decorate.delay, .duration(.zero...Duration.seconds(60)), initially: "none",
            "How long each request to the origin is held back, to see how clients deal with a slow one. `0 s` is not."
        ).inSwift("`$0.decorateRequests { … }`, with [a delegate](library.md#what-has-to-wait)"),
        Setting(
            "decorate.retry", \.decorate.retry,
            SettingKind.section(
                "map of attempts, backoff, maxBackoff, within and on", retry,
                expected: "a map with `attempts`, `backoff`, `maxBackoff`, `within` and `on`"
            ).revocable,
            initially: "none", inside: retry.descriptions,
            """
            Requests to the origin that are made again when they fail, for everybody who waits for them: those whose \
            method is idempotent and whose content is at most 1 MiB. A service repeats at most a fifth of its requests.
            """
        ).inSwift(
            "`$0.retry(RetryPolicy(…))`: without the service's budget, for 408 and 429 too, and not told in `Cache-Status`"
        ),
        Setting(
            "decorate.refreshToken", \.decorate.refresh, SettingKind<RefreshRule>.refresh.revocable,
            initially: "none", inside: refresh.descriptions,
            """
            The renewal of a credential that the origin refuses: a new one is asked for, once however many requests \
            were refused, its value becomes that of a variable, and each request is made once more with it.
            """
        ).inSwift("`$0.decorateRequests(TokenRefresh(…).decorate)`"),
        Setting(
            "afterWrite", sets: \.afterWrite, SettingKind<Configuration.AfterWrite>.afterWrite,
            initially: "`invalidate`",
            inside: afterWrite.descriptions,
            """
            The effect of a successful request, with a method that changes something, on what is stored for its URL. \
            As a map, `action` is that word, and `also` names other resources that are forgotten as well.
            """
        ).inSwift("`$0.afterWrite`")
            .explained {
                ([$0.afterWrite.action.rawValue] + $0.afterWrite.also.map { "also \($0.text)" }).joined(separator: ", ")
            },
    ]

    static let afterWrite = SettingsSection<AfterWriteDraft>([
        Setting(
            "action", \.action, .choice,
            """
            `invalidate` forgets what is stored for the URL, and what `Location` and `Content-Location` of the same \
            origin name (RFC 9111 §4.4); `wipe` is the same; `none` leaves all that as it is; `reload` forgets it \
            and asks the origin anew at once; `override` has the content of a PUT stand for the resource, and \
            `promote` the response, both in memory and until they expire.
            """),
        Setting(
            "also", \.also, .list(of: .glob, count: 0...32), initially: "none",
            "Patterns of other resources of the service, whose stored responses are forgotten."),
    ])
}

/// `afterWrite` written as a map.
struct AfterWriteDraft: SettingsRoot {
    var action = Configuration.AfterWrite.Action.invalidate
    var also: [GlobPattern] = []
}

extension Configuration.AfterWrite.Action: CaseIterable {
    package static let allCases: [Self] = [.invalidate, .none, .reload, .override, .promote, .wipe]
}

extension SettingKind where Value == Configuration.AfterWrite {
    /// A word, or a map of the word and patterns.
    static var afterWrite: SettingKind {
        let action = SettingKind<Configuration.AfterWrite.Action>.choice
        let section = SettingsCatalogue.afterWrite
        return SettingKind(
            "word, or map of action and also", expected: "\(action.expected), or a map with `action` and `also`",
            bounds: action.bounds,
            read: { node, reader in
                guard case .map = node.content else {
                    return action.read(node, &reader).map { Configuration.AfterWrite($0) }
                }
                var draft = AfterWriteDraft()
                let before = reader.problems.count
                section.read(node, into: &draft, &reader)
                guard reader.problems.count == before else { return nil }
                return Configuration.AfterWrite(draft.action, also: draft.also)
            },
            show: { value in
                guard !value.also.isEmpty else { return action.show(value.action) }
                var draft = AfterWriteDraft()
                draft.action = value.action
                draft.also = value.also
                return section.show(draft)
            })
    }
}

extension SettingKind where Value == RetryCause {
    fileprivate static var retryCause: SettingKind {
        .text(
            "cause", expected: "`unreachable` or a status from 400 to 599",
            show: { cause in
                switch cause {
                case .unreachable: .text("unreachable")
                case .status(let status): .number(Int(status.rawValue))
                }
            },
            parse: { scalar in
                if scalar.text == "unreachable" { return .success(.unreachable) }
                guard let number = Int(scalar.text), (400...599).contains(number) else {
                    return .failure(TextRefusal(suggestion: Nearest.name(to: scalar.text, in: ["unreachable"])))
                }
                return .success(.status(Status(number)))
            })
    }
}

extension SettingKind where Value == Secret {
    /// A text of any length up to 1 MiB, which may be a file's.
    fileprivate static var content: SettingKind {
        .text(
            "text", expected: "a text of at most 1 MiB", allowsVariables: true,
            show: { .text($0.reference ?? $0.reveal()) },
            parse: { scalar in
                guard scalar.text.utf8.count <= 1 << 20 else { return .failure(TextRefusal(found: "a longer text")) }
                return .success(scalar.secret)
            })
    }
}
