/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has one call to the system fail that a daemon makes: preloaded into it (LD_PRELOAD), told by a file that is mapped
 * here and in the test (FAULTS_CONTROL) which function, at which of its calls from now, and how.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* The fields that the test writes and reads; all in the machine's own order of octets. */
struct control {
    /* The name of the function; empty for none. */
    char name[32];
    /* Fails when it comes down to 0. */
    _Atomic int64_t countdown;
    /* The error it fails with. */
    _Atomic int64_t error;
    /* How often something has failed. */
    _Atomic int64_t failures;
};

static struct control *control;

__attribute__((constructor)) static void map_control(void) {
    const char *path = getenv("FAULTS_CONTROL");
    int (*real_open)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    void *(*real_mmap)(void *, size_t, int, int, int, off_t) =
        (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
    if (path == NULL || real_open == NULL || real_mmap == NULL) return;
    int file = real_open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    void *mapped = real_mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED) control = mapped;
}

/* Whether this call is the one; then errno says how it fails. */
static int fails(const char *name) {
    if (control == NULL || control->name[0] == 0 || strncmp(control->name, name, sizeof control->name) != 0) return 0;
    if (atomic_fetch_sub(&control->countdown, 1) != 1) return 0;
    atomic_fetch_add(&control->failures, 1);
    errno = (int)atomic_load(&control->error);
    return 1;
}

#define REAL(result, name, ...)                                                    \
    static result (*real)(__VA_ARGS__);                                            \
    if (real == NULL) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

#define OPENING(name)                                                              \
    int name(const char *path, int flags, ...) {                                   \
        REAL(int, name, const char *, int, ...);                                   \
        va_list rest;                                                              \
        va_start(rest, flags);                                                     \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;  \
        va_end(rest);                                                              \
        return fails("open") ? -1 : real(path, flags, mode);                       \
    }
OPENING(open)
OPENING(open64)

#define OPENING_AT(name)                                                           \
    int name(int folder, const char *path, int flags, ...) {                       \
        REAL(int, name, int, const char *, int, ...);                              \
        va_list rest;                                                              \
        va_start(rest, flags);                                                     \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;  \
        va_end(rest);                                                              \
        return fails("openat") ? -1 : real(folder, path, flags, mode);             \
    }
OPENING_AT(openat)
OPENING_AT(openat64)

#define FAILING(result, failed, as, name, parameters, types, arguments)            \
    result name parameters {                                                       \
        static result(*real) types;                                                \
        if (real == NULL) real = (result(*) types)dlsym(RTLD_NEXT, #name);         \
        return fails(as) ? failed : real arguments;                                \
    }

FAILING(ssize_t, -1, "read", read, (int f, void *b, size_t n), (int, void *, size_t), (f, b, n))
FAILING(ssize_t, -1, "write", write, (int f, const void *b, size_t n), (int, const void *, size_t), (f, b, n))
FAILING(ssize_t, -1, "pread", pread, (int f, void *b, size_t n, off_t o), (int, void *, size_t, off_t), (f, b, n, o))
FAILING(ssize_t, -1, "pread", pread64, (int f, void *b, size_t n, off64_t o), (int, void *, size_t, off64_t),
        (f, b, n, o))
FAILING(ssize_t, -1, "pwrite", pwrite, (int f, const void *b, size_t n, off_t o), (int, const void *, size_t, off_t),
        (f, b, n, o))
FAILING(ssize_t, -1, "pwrite", pwrite64, (int f, const void *b, size_t n, off64_t o),
        (int, const void *, size_t, off64_t), (f, b, n, o))
FAILING(int, -1, "fsync", fsync, (int f), (int), (f))
FAILING(int, -1, "fsync", fdatasync, (int f), (int), (f))
FAILING(int, -1, "rename", rename, (const char *a, const char *b), (const char *, const char *), (a, b))
FAILING(int, -1, "rename", renameat, (int f, const char *a, int g, const char *b),
        (int, const char *, int, const char *), (f, a, g, b))
FAILING(int, -1, "unlink", unlink, (const char *a), (const char *), (a))
FAILING(int, -1, "unlink", unlinkat, (int f, const char *a, int g), (int, const char *, int), (f, a, g))
FAILING(int, -1, "truncate", ftruncate, (int f, off_t n), (int, off_t), (f, n))
FAILING(int, -1, "truncate", ftruncate64, (int f, off64_t n), (int, off64_t), (f, n))
FAILING(int, -1, "stat", fstat, (int f, struct stat *s), (int, struct stat *), (f, s))
FAILING(int, -1, "stat", fstatat, (int f, const char *a, struct stat *s, int g),
        (int, const char *, struct stat *, int), (f, a, s, g))
FAILING(void *, MAP_FAILED, "mmap", mmap, (void *a, size_t n, int p, int g, int f, off_t o),
        (void *, size_t, int, int, int, off_t), (a, n, p, g, f, o))
FAILING(void *, MAP_FAILED, "mmap", mmap64, (void *a, size_t n, int p, int g, int f, off64_t o),
        (void *, size_t, int, int, int, off64_t), (a, n, p, g, f, o))
FAILING(int, -1, "socket", socket, (int a, int b, int c), (int, int, int), (a, b, c))
FAILING(int, -1, "connect", connect, (int f, const struct sockaddr *a, socklen_t n),
        (int, const struct sockaddr *, socklen_t), (f, a, n))
FAILING(int, -1, "accept", accept4, (int f, struct sockaddr *a, socklen_t *n, int g),
        (int, struct sockaddr *, socklen_t *, int), (f, a, n, g))
FAILING(ssize_t, -1, "recv", recv, (int f, void *b, size_t n, int g), (int, void *, size_t, int), (f, b, n, g))
FAILING(ssize_t, -1, "send", send, (int f, const void *b, size_t n, int g), (int, const void *, size_t, int),
        (f, b, n, g))
FAILING(ssize_t, -1, "send", sendmsg, (int f, const struct msghdr *m, int g), (int, const struct msghdr *, int),
        (f, m, g))
FAILING(ssize_t, -1, "send", writev, (int f, const struct iovec *v, int n), (int, const struct iovec *, int),
        (f, v, n))
FAILING(int, -1, "setsockopt", setsockopt, (int f, int l, int o, const void *v, socklen_t n),
        (int, int, int, const void *, socklen_t), (f, l, o, v, n))
FAILING(int, -1, "getsockname", getsockname, (int f, struct sockaddr *a, socklen_t *n),
        (int, struct sockaddr *, socklen_t *), (f, a, n))

/* The Swift runtime's thread pool ends the process where one of its own calls fails, which nobody can help. */
static int is_of_the_pool(const void *caller) {
    Dl_info place;
    return dladdr(caller, &place) && place.dli_fname != NULL && strstr(place.dli_fname, "libdispatch") != NULL;
}

int epoll_ctl(int e, int o, int f, struct epoll_event *v) {
    REAL(int, epoll_ctl, int, int, int, struct epoll_event *);
    return !is_of_the_pool(__builtin_return_address(0)) && fails("epoll_ctl") ? -1 : real(e, o, f, v);
}

FAILING(int, -1, "epoll_wait", epoll_wait, (int e, struct epoll_event *v, int n, int t),
        (int, struct epoll_event *, int, int), (e, v, n, t))
FAILING(ssize_t, -1, "getrandom", getrandom, (void *b, size_t n, unsigned g), (void *, size_t, unsigned), (b, n, g))

/* Says what is wrong by what it returns. */
int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*body)(void *), void *argument) {
    REAL(int, pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    return fails("pthread_create") ? errno : real(t, a, body, argument);
}
