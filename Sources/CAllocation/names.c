/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Swift's library has the names of all of Unicode's characters, more than 500 kB, because its regular expressions can
 * ask for a character by its name. Larder never does. `scripts/package` has the linker put this in the place of the
 * function that looks a name up, and then the tables are left out.
 */
#include <stdint.h>

intptr_t __wrap__swift_stdlib_getScalarName(uint32_t scalar, uint8_t *name, intptr_t capacity);

/* No character has a name. */
intptr_t __wrap__swift_stdlib_getScalarName(uint32_t scalar, uint8_t *name, intptr_t capacity) {
    (void)scalar;
    (void)name;
    (void)capacity;
    return 0;
}
