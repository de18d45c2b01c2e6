/* SPDX-License-Identifier: Apache-2.0 */
/* SHA256_Init and its kin are what OpenSSL calls deprecated, for there is one way to all digests now. That way takes
   and gives back memory for each. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "COpenSSL.h"

int larder_sha256(const void *octets, size_t count, unsigned char *digest) {
    SHA256_CTX context;
    return SHA256_Init(&context) == 1 && SHA256_Update(&context, octets, count) == 1
        && SHA256_Final(digest, &context) == 1;
}
