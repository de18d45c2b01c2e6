/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CJQ_H
#define CJQ_H
#include <jv.h>
#include <jq.h>
#endif
