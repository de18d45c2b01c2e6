/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CALLOCATION_H
#define CALLOCATION_H

/* Nothing to call: a program that is linked with this has allocations that either succeed or end it with a sentence. */

/* The status the program ends with when there is no memory (sysexits.h's EX_OSERR). */
enum { CALLOCATION_STATUS = 71 };
#endif
