// SPDX-License-Identifier: Apache-2.0

/// The files of the dashboard, as in `Page`.
package enum DashboardFile: String, CaseIterable, Sendable {
    case markup = "dashboard.html"
    case style = "dashboard.css"
    case icon = "icon.svg"
    case words = "words.js"
    case charts = "charts.js"
    case explain = "explain.js"
    case script = "dashboard.js"

    package var octets: [UInt8] {
        switch self {
        case .markup: PackageResources.dashboard_html
        case .style: PackageResources.dashboard_css
        case .icon: PackageResources.icon_svg
        case .words: PackageResources.words_js
        case .charts: PackageResources.charts_js
        case .explain: PackageResources.explain_js
        case .script: PackageResources.dashboard_js
        }
    }

    package var text: String { String(decoding: octets, as: UTF8.self) }

    package var mediaType: String {
        switch self {
        case .markup: "text/html; charset=utf-8"
        case .style: "text/css; charset=utf-8"
        case .icon: "image/svg+xml"
        case .words, .charts, .explain, .script: "text/javascript; charset=utf-8"
        }
    }
}
