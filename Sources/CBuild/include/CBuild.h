/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CBUILD_H
#define CBUILD_H

/* The commit that a release was built from, in hexadecimal; empty in every other build. */
const char *larder_build_commit(void);
#endif
