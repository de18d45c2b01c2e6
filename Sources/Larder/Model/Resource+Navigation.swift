// SPDX-License-Identifier: Apache-2.0

/// Resources near this one. All are of the same service and partition; making one runs nothing.
extension Resource {
    /// The resource at a path below this one; nothing in `path` is special.
    public func child(_ path: String) -> Resource { sibling(url.child(path)) }

    /// The resource that a link with that reference leads to from here.
    public func relative(_ reference: String) -> Resource { sibling(url.relative(reference)) }

    /// `relative`, or nil for nil.
    public func optionalRelative(_ reference: String?) -> Resource? { reference.map(relative) }

    /// This resource with one query parameter set; an empty value leaves the bare name, nil removes it.
    public func withParam(_ name: String, _ value: String?) -> Resource { sibling(url.withParam(name, value)) }

    /// This resource with a query parameter that has several values.
    public func withParam(_ name: String, values: [String]) -> Resource { sibling(url.withParam(name, values: values)) }

    /// This resource with several query parameters set; nil removes one.
    public func withParams(_ parameters: [String: String?]) -> Resource { sibling(url.withParams(parameters)) }

    private func sibling(_ url: ResourceURL) -> Resource { service.resource(for: url, in: partition) }
}
