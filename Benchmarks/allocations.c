/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts how often a program asks for memory, for Benchmarks/allocations. Loaded before the C library by LD_PRELOAD.
 *
 * Larder has a malloc of its own, which calls these four; so they are what is counted, not malloc itself. The counts
 * are in a file that is mapped by whoever asks.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

struct counts {
    atomic_ulong is_counting;
    atomic_ulong on_loops;
    atomic_ulong elsewhere;
};

static struct counts *counts;
static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void *(*next_memalign)(size_t, size_t);

static void find(void) {
    next_memalign = dlsym(RTLD_NEXT, "__libc_memalign");
    next_calloc = dlsym(RTLD_NEXT, "__libc_calloc");
    next_realloc = dlsym(RTLD_NEXT, "__libc_realloc");
    next_malloc = dlsym(RTLD_NEXT, "__libc_malloc");
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("LARDER_ALLOCATIONS");
    int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    void *memory = mmap(NULL, sizeof(struct counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) counts = memory;
    close(file);
}

/* The event loops are called larder-0, larder-1 and so on. */
static int is_loop(void) {
    static __thread int known = -1;
    if (known < 0) {
        char name[17] = "";
        prctl(PR_GET_NAME, name);
        known = strncmp(name, "larder-", 7) == 0 && isdigit((unsigned char)name[7]);
    }
    return known;
}

static void count(void) {
    if (counts == NULL || !atomic_load_explicit(&counts->is_counting, memory_order_relaxed)) return;
    atomic_fetch_add_explicit(is_loop() ? &counts->on_loops : &counts->elsewhere, 1, memory_order_relaxed);
}

void *__libc_malloc(size_t size) {
    if (next_malloc == NULL) find();
    count();
    return next_malloc(size);
}

void *__libc_calloc(size_t number, size_t size) {
    if (next_calloc == NULL) find();
    count();
    return next_calloc(number, size);
}

void *__libc_realloc(void *memory, size_t size) {
    if (next_realloc == NULL) find();
    count();
    return next_realloc(memory, size);
}

void *__libc_memalign(size_t alignment, size_t size) {
    if (next_memalign == NULL) find();
    count();
    return next_memalign(alignment, size);
}
