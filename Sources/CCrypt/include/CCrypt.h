/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CCRYPT_H
#define CCRYPT_H
#include <stddef.h>

/* crypt(3) works in 32 KiB that have to be wiped afterwards, which is done here; nothing of them leaves these
   functions. They may be called by several threads at once. */

/* Whether the library knows the method of a hash. */
int larder_crypt_knows(const char *hash);

/* Whether `phrase` is the one that `hash` was made of. Takes as long as the hash demands, and compares all of it. */
int larder_crypt_matches(const char *phrase, const char *hash);

/* Makes a hash of `phrase` by the method of `prefix`, with a salt by the system and the method's own cost.
   Answers 1. */
int larder_crypt_make(const char *phrase, const char *prefix, char *hash, size_t size);
#endif
