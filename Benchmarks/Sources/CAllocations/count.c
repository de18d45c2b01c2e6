/* SPDX-License-Identifier: Apache-2.0 */
/* glibc lets a program bring its own malloc; this one counts and asks the usual one. */
#include "CAllocations.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

static atomic_bool is_counting;
static atomic_ulong count;

static void note(void) {
    if (atomic_load_explicit(&is_counting, memory_order_relaxed))
        atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
}

void *malloc(size_t size) {
    note();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    note();
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
    note();
    return __libc_realloc(memory, size);
}

void free(void *memory) { __libc_free(memory); }

void allocations_begin(void) {
    atomic_store(&count, 0);
    atomic_store(&is_counting, true);
}

unsigned long allocations_count(void) { return atomic_load(&count); }
