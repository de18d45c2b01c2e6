// SPDX-License-Identifier: Apache-2.0

/// The prices of a language model, for a million tokens each.
package struct ModelPrice: Sendable, Equatable {
    package var model: String
    package var input: Double
    package var output: Double
}

extension [ModelPrice] {
    /// The price of a model: by its exact name, else by its longest listed prefix, for models with dates in their
    /// names.
    package func price(of model: String) -> ModelPrice? {
        filter { model.hasPrefix($0.model) }.max { $0.model.count < $1.model.count }
    }
}
