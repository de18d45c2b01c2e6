// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// Small programs to start from: with the library, and with a daemon of one's own.

let package = Package(
    name: "larder-examples",
    dependencies: [.package(name: "larder", path: "..")],
    targets: [
        .executableTarget(name: "Pantry", dependencies: [.product(name: "LarderDaemon", package: "larder")]),
        .executableTarget(name: "Cellar", dependencies: [.product(name: "LarderDaemon", package: "larder")]),
        .executableTarget(name: "Notebook", dependencies: [.product(name: "Larder", package: "larder")]),
        .executableTarget(name: "Tour", dependencies: [.product(name: "Larder", package: "larder")]),
        .target(name: "StargazerKit", dependencies: [.product(name: "Larder", package: "larder")]),
        .executableTarget(name: "Stargazer", dependencies: ["StargazerKit"]),
        .testTarget(
            name: "StargazerTests",
            dependencies: ["StargazerKit", .product(name: "LarderTesting", package: "larder")]),
    ],
    swiftLanguageModes: [.v6]
)
