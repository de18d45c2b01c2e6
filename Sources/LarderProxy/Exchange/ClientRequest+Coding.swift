// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

/// The content codings that the client accepts.
extension ClientRequest {
    /// Whether the client can get content in its stored coding: the client accepts that, or the origin sent it in
    /// response to a request like this one.
    func accepts(_ coding: ServedCoding, _ stored: StoredResponse) -> Bool {
        AcceptedCodings(head.fields).weight(of: coding) > 0
            || stored.variance.spanningCodings(false).matches(head.fields)
    }

    /// Whether the response of a load has a coding that this client accepts, or no other can be had.
    func accepts(_ response: ResponseHead, _ stored: StoredResponse?, of load: ActiveLoad) -> Bool {
        guard let coding = ServedCoding(of: response.fields) else { return true }
        if AcceptedCodings(head.fields).weight(of: coding) > 0 { return true }
        // An origin may send a coding whatever it was asked for: that the request was like this one says nothing.
        if let stored { return !stored.variance.spansCodings }
        // A validation is sent with the `Accept-Encoding` of the first request.
        return load.request.fields[.acceptEncoding] == head.fields[.acceptEncoding]
    }

    /// Adds the fields that the stored form of a relayed response will have.
    func noteForms(in fields: inout Fields, of response: ResponseHead, _ policy: CachePolicy) {
        guard !policy.codings.isEmpty else { return }
        if response.status == 304 { CodedTag.translate(&fields, askedWith: head.fields) }
        let stored = StoredResponse(
            status: response.status, fields: response.fields, requestTime: context.now(), responseTime: context.now(),
            policy: policy)
        if stored.recoding != nil { CodedForms.noteForms(in: &fields) }
    }
}
