/* SPDX-License-Identifier: Apache-2.0 */
#include "CCrypt.h"
#include <crypt.h>
#include <stdlib.h>
#include <string.h>

int larder_crypt_knows(const char *hash) {
    int verdict = crypt_checksalt(hash);
    return verdict != CRYPT_SALT_INVALID && verdict != CRYPT_SALT_METHOD_DISABLED;
}

int larder_crypt_matches(const char *phrase, const char *hash) {
    struct crypt_data *data = calloc(1, sizeof *data);
    if (data == NULL) return 0;
    const char *made = crypt_rn(phrase, hash, data, sizeof *data);
    size_t count = strlen(hash);
    volatile unsigned char difference = made == NULL || strlen(made) != count;
    for (size_t index = 0; index < count && made != NULL && made[index] != 0; index++)
        difference |= (unsigned char)(made[index] ^ hash[index]);
    explicit_bzero(data, sizeof *data);
    free(data);
    return difference == 0;
}

int larder_crypt_make(const char *phrase, const char *prefix, char *hash, size_t size) {
    char setting[CRYPT_GENSALT_OUTPUT_SIZE];
    if (crypt_gensalt_rn(prefix, 0, NULL, 0, setting, sizeof setting) == NULL) return 0;
    struct crypt_data *data = calloc(1, sizeof *data);
    if (data == NULL) return 0;
    const char *made = crypt_rn(phrase, setting, data, sizeof *data);
    int is_made = made != NULL && strlen(made) < size;
    if (is_made) memcpy(hash, made, strlen(made) + 1);
    explicit_bzero(data, sizeof *data);
    free(data);
    return is_made;
}
