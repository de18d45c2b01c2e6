// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules

/// `/-/resolve`: URLs relative to a resource, by the rules of the library (model: 3.3).
extension AdminCall {
    func resolve() throws -> OwnResponse {
        let start = try proxy.subject(of: parameters.required("url"))
        let url = try parameters.steps(from: ResourceURL(start.uri))
        guard url.target != nil else { throw Problem.leadsNowhere(url.string) }
        let end = try proxy.subject(of: url.string)
        return OwnResponse(json: [
            "from": .string(start.url), "url": .string(end.url), "service": .string(end.service.name),
        ])
    }
}

extension AdminParameters {
    /// The URL after `child` or `relative`, and then every `param`.
    fileprivate func steps(from start: ResourceURL) throws(Problem) -> ResourceURL {
        if text("child") != nil, text("relative") != nil {
            throw .badParameter("‘child’ and ‘relative’ exclude each other.", advice: "Ask twice, one after the other.")
        }
        var url = start
        if let path = text("child") { url = url.child(path) }
        if let reference = text("relative") { url = url.relative(reference) }
        for parameter in all("param") {
            let name = parameter.prefix { $0 != "=" }
            guard !name.isEmpty else {
                throw .badParameter(
                    "‘\(parameter.prefix(60))’ names no parameter.",
                    advice: "Write name=value to set it, name= for the bare name, name to take it off.")
            }
            url = url.withParam(
                String(name), parameter.contains("=") ? String(parameter.dropFirst(name.count + 1)) : nil)
        }
        return url
    }
}

extension Problem {
    static func leadsNowhere(_ url: String) -> Problem {
        Problem(
            status: 400, title: "Not a resource", proxyError: .httpRequestError,
            detail: "‘\(url.prefix(500))’ is no URL of http or https.", advice: "Change the reference.")
    }
}
