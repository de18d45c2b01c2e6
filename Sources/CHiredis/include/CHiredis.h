/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHIREDIS_H
#define CHIREDIS_H
/* hiredis uses what this declares. */
#include <stdlib.h>
#include <hiredis/hiredis.h>
#endif
