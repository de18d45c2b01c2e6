/* SPDX-License-Identifier: Apache-2.0 */
#include "CBuild.h"

#define TEXT_OF(words) #words
#define TEXT(words) TEXT_OF(words)

/* Package.swift defines LARDER_COMMIT, from the environment of `scripts/package`. A file of its own, so that another
   commit compiles nothing else again. */
const char *larder_build_commit(void) { return TEXT(LARDER_COMMIT); }
