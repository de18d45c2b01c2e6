// SPDX-License-Identifier: Apache-2.0

import Glibc
import Larder
@testable import LarderCLI
import LarderHTTP
import LarderProxy
import LarderSettings

/// Patterns are compiled or refused, and match any URL in bounded time.
///
/// The first line of the input is the pattern, the second a URL.
func pattern(_ input: UnsafeRawBufferPointer) {
    let lines = input.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
    let text = String(decoding: lines[0], as: UTF8.self)
    let url = ResourceURL(lines.count > 1 ? String(decoding: lines[1], as: UTF8.self) : "http://a.example/b/c?d")
    let base = try? TargetURI("http://a.example/b/")
    if let glob = try? GlobPattern(text) {
        let isMatch = glob.predicate(relativeTo: base)(url)
        require(glob.predicate(relativeTo: base)(url) == isMatch, "matching is a function")
        if !glob.isAbsolute, isMatch {
            require(url.target.map { $0.hasSameOrigin(as: base!) } ?? false, "a relative pattern stays at its base")
        }
        _ = glob.predicate(relativeTo: nil)(url)
    }
    if let regex = try? RegexPattern(text, ignoresCase: text.utf8.count % 2 == 0) {
        _ = regex.predicate(relativeTo: base)(url)
    }
}

/// A configuration is read, or refused with problems that can be shown.
func configuration(_ input: UnsafeRawBufferPointer) {
    var document = YAMLDocument(
        source: .file("larder.yaml"), references: SecretReferences(environment: ["NAME": "value"]))
    guard let text = String(validating: input, as: UTF8.self) else { return }
    let tree = document.read(text)
    for problem in document.problems { require(!"\(problem)".isEmpty, "a problem can be shown") }
    var reader = SettingsReader()
    _ = SettingsCatalogue.read(tree, &reader)
    require(reader.problems.count <= SettingsReader.problemLimit, "problems are bounded")
    for problem in reader.problems { require(!"\(problem)".isEmpty, "a problem can be shown") }
    var problems: [SettingsProblem] = []
    _ = SettingsOverride(String(text.prefix(500)), references: document.references, problems: &problems)
}
