/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells Swift's runtime that the thread sanitizer is there, for scripts/sanitize. Loaded by LD_PRELOAD.
 *
 * The runtime tells the sanitizer which task continues which, once __tsan_on_initialize has been called. On Linux
 * nobody calls it: the sanitizer's own, which does nothing, is linked into the program and found first.
 */
#include <dlfcn.h>
#include <stddef.h>

__attribute__((constructor)) static void begin(void) {
    void (*tell)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "__tsan_on_initialize");
    if (tell != NULL && dlsym(RTLD_DEFAULT, "__tsan_acquire") != NULL) tell();
}
