/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <malloc.h>
#include "CLibevent.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int larder_accept(int listener, struct sockaddr *address, socklen_t *length) {
    return accept4(listener, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

void larder_name_thread(const char *name) {
    char cut[16] = {0};
    strncpy(cut, name, sizeof cut - 1);
    pthread_setname_np(pthread_self(), cut);
}

/* The first version of the kernel's struct (sched_setattr(2)); later members are zero then. */
void larder_shorten_slice(unsigned long nanoseconds) {
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t slice, deadline, period;
    } attributes = {.size = sizeof attributes};
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
    /* The threads of another policy are somebody's decision. */
    if (attributes.policy != SCHED_OTHER) return;
    attributes.size = sizeof attributes;
    attributes.slice = nanoseconds;
    /* Programs that it starts get the usual one (SCHED_FLAG_RESET_ON_FORK). */
    attributes.flags |= 0x01;
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

int larder_peer_user(int fd, uid_t *user) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return -1;
    *user = peer.uid;
    return 0;
}

int larder_unconfirmed(int fd) {
    int count = 0;
    return ioctl(fd, TIOCOUTQ, &count) == 0 ? count : 0;
}

int larder_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

pid_t larder_spawn(
    const char *path, char *const arguments[], char *const environment[], int input, int output, int errors,
    int *ending) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    pid_t process = -1;
    int failure = posix_spawn_file_actions_init(&files);
    if (failure) return -failure;
    failure = posix_spawnattr_init(&attributes);
    if (failure) {
        posix_spawn_file_actions_destroy(&files);
        return -failure;
    }
    sigemptyset(&none);
    sigfillset(&all);
    if (!failure) failure = posix_spawn_file_actions_adddup2(&files, input, 0);
    if (!failure) failure = posix_spawn_file_actions_adddup2(&files, output, 1);
    if (!failure) failure = posix_spawn_file_actions_adddup2(&files, errors, 2);
    if (!failure) failure = posix_spawn_file_actions_addclosefrom_np(&files, 3);
    if (!failure) failure = posix_spawnattr_setsigmask(&attributes, &none);
    if (!failure) failure = posix_spawnattr_setsigdefault(&attributes, &all);
    if (!failure) failure = posix_spawnattr_setpgroup(&attributes, 0);
    if (!failure)
        failure = posix_spawnattr_setflags(
            &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    if (!failure) failure = posix_spawn(&process, path, &files, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (failure) return -failure;
    *ending = (int)syscall(SYS_pidfd_open, process, 0);
    if (*ending < 0) {
        failure = errno;
        kill(-process, SIGKILL);
        waitpid(process, NULL, 0);
        return -failure;
    }
    return process;
}

void larder_release_memory(void) { malloc_trim(0); }
