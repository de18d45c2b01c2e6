/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CZSTD_H
#define CZSTD_H
#include <zstd.h>
#endif
