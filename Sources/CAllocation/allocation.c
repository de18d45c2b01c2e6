/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Swift does not let a program answer a failed allocation: its runtime uses what it gets, in some places without a
 * look, and a process that has run out of memory would end by a segmentation fault in whatever it did at the time. Here
 * it ends with a sentence and a status of its own, and whoever supervises it starts another one.
 *
 * The program's own malloc and its kin come before those of the C library for everything in the process. They do
 * nothing but call those and look at what comes back. A request for more at a time than Larder ever makes gets
 * NULL, as it would: the libraries in C that could be talked into that have an answer for it.
 */
#include "CAllocation.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define CALLOCATION_IS_SANITIZED 1
#endif
#endif

#if defined(__GLIBC__) && !defined(CALLOCATION_IS_SANITIZED)

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static const size_t usual_limit = (size_t)1 << 30;

static void *or_end(void *memory, size_t size) {
    static const char sentence[] =
        "larder: out of memory; give it more, or lower cache.memory and limits.connections in its configuration\n";
    if (__builtin_expect(memory != NULL, 1) || size == 0 || size > usual_limit) return memory;
    ssize_t written = write(STDERR_FILENO, sentence, sizeof sentence - 1);
    (void)written;
    _exit(CALLOCATION_STATUS);
}

void *malloc(size_t size) { return or_end(__libc_malloc(size), size); }

void *calloc(size_t count, size_t size) {
    size_t all;
    if (__builtin_mul_overflow(count, size, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    return or_end(__libc_calloc(count, size), all);
}

void *realloc(void *memory, size_t size) { return or_end(__libc_realloc(memory, size), size); }

void *memalign(size_t alignment, size_t size) { return or_end(__libc_memalign(alignment, size), size); }

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **memory, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
    void *made = memalign(alignment, size);
    if (made == NULL) return ENOMEM;
    *memory = made;
    return 0;
}

#endif
