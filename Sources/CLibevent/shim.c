/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "CLibevent.h"
#include <pthread.h>
#include <string.h>

int larder_accept(int listener, struct sockaddr *address, socklen_t *length) {
    return accept4(listener, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

void larder_name_thread(const char *name) {
    char cut[16] = {0};
    strncpy(cut, name, sizeof cut - 1);
    pthread_setname_np(pthread_self(), cut);
}

int larder_peer_user(int fd, uid_t *user) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return -1;
    *user = peer.uid;
    return 0;
}
