/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRE2_H
#define CRE2_H
#include <stdbool.h>
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif

/* A compiled regular expression of RE2, which Swift cannot call without C++. Any thread may search by it. */
typedef struct larder_regex larder_regex;

/* Why an expression is refused: a sentence of RE2's without an end, and the part of the expression it is about; both
   are cut where they are longer. */
typedef struct {
    char message[128];
    char part[64];
} larder_regex_error;

/* Compiles `length` octets, of which a compiled expression takes `memory` octets at most. Answers NULL and the reason
   where they are none, or there is no memory. */
larder_regex *larder_regex_compile(
    const char *text, size_t length, bool ignores_case, long memory, larder_regex_error *error);

/* Whether some part of `length` octets matches, in time that grows as they do. */
bool larder_regex_search(const larder_regex *regex, const char *text, size_t length);

void larder_regex_free(larder_regex *regex);

#ifdef __cplusplus
}
#endif
#endif
