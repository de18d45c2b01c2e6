// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// Each program here is a Larder with a service of its own, written in Swift.

let package = Package(
    name: "larder-examples",
    dependencies: [.package(name: "larder", path: "..")],
    targets: [
        .executableTarget(name: "Pantry", dependencies: [.product(name: "LarderDaemon", package: "larder")])
    ],
    swiftLanguageModes: [.v6]
)
