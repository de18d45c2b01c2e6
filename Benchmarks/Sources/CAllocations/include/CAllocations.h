/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CALLOCATIONS_H
#define CALLOCATIONS_H

/* How often memory has been asked for since counting began; counting costs nothing before. */
void allocations_begin(void);
unsigned long allocations_count(void);

#endif
