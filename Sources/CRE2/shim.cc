/* SPDX-License-Identifier: Apache-2.0 */
#include "CRE2.h"

#include <cstring>
#include <new>
#include <re2/re2.h>
#include <string>

struct larder_regex {
    larder_regex(const re2::StringPiece &text, const RE2::Options &options) : compiled(text, options) {}
    RE2 compiled;
};

/* Copies as much as has room, and the end of a C string. */
template <size_t size>
static void copy(const std::string &text, char (&target)[size]) {
    size_t count = text.size() < size ? text.size() : size - 1;
    memcpy(target, text.data(), count);
    target[count] = 0;
}

larder_regex *larder_regex_compile(
    const char *text, size_t length, bool ignores_case, long memory, larder_regex_error *error) {
    /* Octets, as URLs are; nothing is asked about groups; errors are told to the caller alone. */
    RE2::Options options(RE2::Latin1);
    options.set_log_errors(false);
    options.set_never_capture(true);
    options.set_dot_nl(true);
    options.set_case_sensitive(!ignores_case);
    options.set_max_mem(memory);
    larder_regex *regex = new (std::nothrow) larder_regex(re2::StringPiece(text, length), options);
    if (regex == nullptr) {
        copy("no memory is left", error->message);
        copy("", error->part);
        return nullptr;
    }
    if (regex->compiled.ok()) return regex;
    copy(regex->compiled.error(), error->message);
    copy(regex->compiled.error_arg(), error->part);
    delete regex;
    return nullptr;
}

bool larder_regex_search(const larder_regex *regex, const char *text, size_t length) {
    return RE2::PartialMatch(re2::StringPiece(text, length), regex->compiled);
}

void larder_regex_free(larder_regex *regex) { delete regex; }
