// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules

extension ClientRequest {
    /// The span begins with the request, so that whatever is sent for it is part of the trace.
    func beginSpan() {
        if let tracer = context.tracer { span = editHead { tracer.begin(&$0.fields) } }
    }

    /// The exchange waits for the load of another client's request.
    func linkSpan(to load: ActiveLoad) {
        guard let span, let leader = ReceivedTrace(load.request.fields).context, leader.isSampled else { return }
        span.leader = leader
    }
}
