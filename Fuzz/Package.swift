// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// A package of its own, so that everything in it is compiled for the fuzzer and nothing else is. The sources it
// tests are linked into Sources/, because `package` access ends at the border of a package. `scripts/fuzz` builds it.

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .unsafeFlags(["-sanitize-coverage=edge,inline-8bit-counters,pc-table"]),
]

/// Settings of targets that are tested below the surface that others see.
let testable: [SwiftSetting] = settings + [.unsafeFlags(["-enable-testing"])]

let package = Package(
    name: "larder-fuzz",
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    ],
    targets: [
        .target(
            name: "CLibevent", linkerSettings: [.linkedLibrary("event_core"), .linkedLibrary("event_extra")]),
        .target(name: "COpenSSL", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .target(name: "CSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(name: "CYAML", linkerSettings: [.linkedLibrary("yaml")]),
        .target(name: "CZlib", linkerSettings: [.linkedLibrary("z")]),
        .target(
            name: "CBrotli", linkerSettings: [.linkedLibrary("brotlidec"), .linkedLibrary("brotlienc")]),
        .target(name: "CZstd", linkerSettings: [.linkedLibrary("zstd")]),
        .target(name: "CRE2", linkerSettings: [.linkedLibrary("re2")]),
        .target(name: "CJq", linkerSettings: [.linkedLibrary("jq")]),
        .target(name: "CHiredis", linkerSettings: [.linkedLibrary("hiredis")]),
        .target(name: "CCrypt", linkerSettings: [.linkedLibrary("crypt")]),
        .target(name: "CBuild", cSettings: [.define("LARDER_COMMIT", to: "")]),
        .target(name: "LarderHTTP", swiftSettings: settings),
        .target(
            name: "LarderCodings", dependencies: ["CZlib", "CBrotli", "CZstd"], swiftSettings: settings),
        .target(
            name: "LarderRules",
            dependencies: [
                "LarderHTTP",
                .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
            ],
            swiftSettings: testable),
        .target(name: "LarderIO", dependencies: ["CLibevent", "COpenSSL"], swiftSettings: settings),
        .target(
            name: "Larder",
            dependencies: [
                "CRE2", "LarderHTTP", "LarderRules", "LarderIO", "LarderUpstream",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .target(
            name: "LarderUpstream",
            dependencies: [
                "LarderHTTP", "LarderIO", "LarderRules",
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: settings),
        .target(
            name: "LarderTransformers", dependencies: ["Larder", "LarderHTTP", "LarderIO", "LarderCodings", "CJq"],
            swiftSettings: settings),
        .target(
            name: "LarderStores", dependencies: ["Larder", "LarderHTTP", "LarderIO", "CSQLite", "COpenSSL"],
            swiftSettings: testable),
        .target(
            name: "LarderShared",
            dependencies: [
                "LarderHTTP", "LarderIO", "LarderStores", "CHiredis", "COpenSSL",
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: settings),
        .target(
            name: "LarderSettings",
            dependencies: [
                "CBuild", "Larder", "LarderHTTP", "LarderRules", "LarderIO", "LarderCodings", "LarderShared",
                "LarderTransformers", "LarderUpstream",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .target(
            name: "LarderProxy",
            dependencies: [
                "Larder", "LarderHTTP", "LarderRules", "LarderIO", "LarderCodings", "LarderSettings", "LarderStores",
                "LarderTransformers", "LarderUpstream",
                "CCrypt",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: testable),
        .target(
            name: "LarderSharing",
            dependencies: [
                "Larder", "LarderHTTP", "LarderRules", "LarderIO", "LarderSettings", "LarderShared", "LarderStores",
                "LarderProxy",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .target(
            name: "LarderDashboard",
            resources: [
                .embedInCode("Page/dashboard.html"), .embedInCode("Page/dashboard.css"), .embedInCode("Page/icon.svg"),
                .embedInCode("Page/words.js"), .embedInCode("Page/charts.js"), .embedInCode("Page/explain.js"),
                .embedInCode("Page/dashboard.js"),
            ],
            swiftSettings: settings),
        .target(
            name: "LarderAdmin",
            dependencies: [
                "LarderDashboard", "LarderCodings", "Larder", "LarderHTTP", "LarderRules", "LarderIO", "LarderStores",
                "LarderUpstream", "LarderSettings", "LarderProxy", "LarderSharing",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        // Reads the configuration.
        .target(
            name: "LarderCLI",
            dependencies: [
                "CYAML", "Larder", "LarderHTTP", "LarderIO", "LarderRules", "LarderStores", "LarderUpstream",
                "LarderSettings", "LarderProxy", "LarderAdmin", "LarderTransformers",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            resources: [.embedInCode("Presets/Files")],
            swiftSettings: testable),
        .executableTarget(
            name: "LarderFuzz",
            dependencies: [
                "LarderHTTP", "LarderRules", "LarderIO", "Larder", "LarderStores", "LarderSettings", "LarderProxy",
                "LarderCLI", "CSQLite",
            ],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
