/* SPDX-License-Identifier: Apache-2.0 */
#include "CJq.h"
