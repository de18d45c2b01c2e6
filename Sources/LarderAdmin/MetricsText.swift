// SPDX-License-Identifier: Apache-2.0

/// Metrics as text, in the format of Prometheus (0.0.4) or in OpenMetrics 1.0.
struct MetricsText {
    let isOpenMetrics: Bool
    private(set) var text = ""

    init(isOpenMetrics: Bool) { self.isOpenMetrics = isOpenMetrics }

    var mediaType: String {
        isOpenMetrics
            ? "application/openmetrics-text; version=1.0.0; charset=utf-8" : "text/plain; version=0.0.4; charset=utf-8"
    }

    typealias Labels = [(name: String, value: String)]

    /// A counter: `name` has no `_total`, the samples have.
    mutating func counter(_ name: String, _ help: String, _ samples: [(labels: Labels, value: Double)]) {
        head(isOpenMetrics ? name : name + "_total", "counter", help)
        for sample in samples { line(name + "_total", sample.labels, sample.value) }
    }

    mutating func counter(_ name: String, _ help: String, _ value: some BinaryInteger) {
        counter(name, help, [([], Double(value))])
    }

    mutating func counter(_ name: String, _ help: String, byOutcome counts: KeyValuePairs<String, UInt64>) {
        counter(name, help, counts.map { ([("outcome", $0.key)], Double($0.value)) })
    }

    mutating func gauge(_ name: String, _ help: String, _ samples: [(labels: Labels, value: Double)]) {
        head(name, "gauge", help)
        for sample in samples { line(name, sample.labels, sample.value) }
    }

    mutating func gauge(_ name: String, _ help: String, _ value: some BinaryInteger) {
        gauge(name, help, [([], Double(value))])
    }

    /// The counts of one histogram; `buckets` are cumulative, up to and including a bound.
    struct Histogram {
        var labels: Labels = []
        var buckets: [(bound: Double, count: UInt64)]
        var count: UInt64
        var sum: Double
    }

    mutating func histogram(
        _ name: String, _ help: String, buckets: [(bound: Double, count: UInt64)], count: UInt64, sum: Double
    ) {
        histogram(name, help, [Histogram(buckets: buckets, count: count, sum: sum)])
    }

    mutating func histogram(_ name: String, _ help: String, _ histograms: [Histogram]) {
        head(name, "histogram", help)
        for histogram in histograms {
            let labels = histogram.labels
            for bucket in histogram.buckets {
                line(name + "_bucket", labels + [("le", "\(bucket.bound)")], Double(bucket.count))
            }
            line(name + "_bucket", labels + [("le", "+Inf")], Double(histogram.count))
            line(name + "_sum", labels, histogram.sum)
            line(name + "_count", labels, Double(histogram.count))
        }
    }

    /// The end mark of OpenMetrics.
    mutating func finish() {
        if isOpenMetrics { text += "# EOF\n" }
    }

    private mutating func head(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(name) \(MetricsText.escaped(help, quotes: isOpenMetrics))\n# TYPE \(name) \(type)\n"
    }

    private mutating func line(_ name: String, _ labels: Labels, _ value: Double) {
        text += name
        if !labels.isEmpty {
            let pairs = labels.map { "\($0.name)=\"\(MetricsText.escaped($0.value, quotes: true))\"" }
            text += "{" + pairs.joined(separator: ",") + "}"
        }
        let isWhole = value == value.rounded() && abs(value) < 1e15
        text += " " + (isWhole ? String(Int64(value)) : String(value)) + "\n"
    }

    static func escaped(_ text: String, quotes: Bool) -> String {
        var out = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": out += "\\\\"
            case "\n": out += "\\n"
            case "\"" where quotes: out += "\\\""
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out
    }
}
