/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CBROTLI_H
#define CBROTLI_H
#include <brotli/decode.h>
#include <brotli/encode.h>
#endif
