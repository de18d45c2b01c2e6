/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CZLIB_H
#define CZLIB_H
#include <zlib.h>

/* inflateInit2 and deflateInit2 are macros over functions that are told the size of the structure. */

/* `window` is 15 for the zlib format, 31 for gzip, -15 for neither. */
static inline int larder_inflate_init(z_streamp stream, int window) { return inflateInit2(stream, window); }

static inline int larder_deflate_init(z_streamp stream, int level, int window) {
    return deflateInit2(stream, level, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY);
}
#endif
