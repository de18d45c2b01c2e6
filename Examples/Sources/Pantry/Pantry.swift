// SPDX-License-Identifier: Apache-2.0
import LarderDaemon

/// The command `larder` with one more service: a shop's products, each reduced to what a shelf label needs.
@main
struct Pantry: DaemonProgram {
    var services: [any DaemonService] { [Shop()] }
}

struct Shop: DaemonService {
    let name = "shop"
    let baseURL = "https://shop.example/api/"

    func configure(_ service: Service) {
        service.configure("**") {
            $0.expirationTime = .seconds(300)
            $0.expirationMode = .fallback
            $0.pipeline.add(.json)
        }
        service.configureTransformer("/products/*", description: "label") {
            (product: JSONValue, _) throws -> JSONValue in
            guard let name = product["name"], let price = product["price"] else { throw NoProduct() }
            return ["name": name, "price": price]
        }
    }
}

struct NoProduct: Error, CustomStringConvertible {
    let description = "a product has a name and a price"
}
