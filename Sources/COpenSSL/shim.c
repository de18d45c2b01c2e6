/* SPDX-License-Identifier: Apache-2.0 */
/* SHA256_Init and its kin are what OpenSSL calls deprecated, for there is one way to all digests now. That way takes
   and gives back memory for each. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "COpenSSL.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>

int larder_sha256(const void *octets, size_t count, unsigned char *digest) {
    SHA256_CTX context;
    return SHA256_Init(&context) == 1 && SHA256_Update(&context, octets, count) == 1
        && SHA256_Final(digest, &context) == 1;
}

/* Sockets, as BIO_s_socket has them. The data of a BIO is the descriptor with the bit `held` below it. */

enum { held = 1 };

static intptr_t data_of(BIO *bio) { return (intptr_t)BIO_get_data(bio); }

static int socket_write(BIO *bio, const char *octets, size_t count, size_t *written) {
    intptr_t data = data_of(bio);
    int flags = MSG_NOSIGNAL | (data & held ? MSG_MORE : 0);
    ssize_t sent;
    do sent = send((int)(data >> 1), octets, count, flags);
    while (sent < 0 && errno == EINTR);
    BIO_clear_retry_flags(bio);
    *written = sent > 0 ? (size_t)sent : 0;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) BIO_set_retry_write(bio);
    return sent > 0;
}

static int socket_read(BIO *bio, char *octets, size_t count, size_t *received) {
    ssize_t came;
    do came = recv((int)(data_of(bio) >> 1), octets, count, 0);
    while (came < 0 && errno == EINTR);
    BIO_clear_retry_flags(bio);
    *received = came > 0 ? (size_t)came : 0;
    if (came == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    if (came < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) BIO_set_retry_read(bio);
    return came > 0;
}

static long socket_control(BIO *bio, int command, long argument, void *pointer) {
    (void)argument;
    (void)pointer;
    switch (command) {
    case BIO_CTRL_FLUSH: return 1;
    case BIO_CTRL_EOF: return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    default: return 0;
    }
}

static BIO_METHOD *sockets;
static pthread_once_t sockets_once = PTHREAD_ONCE_INIT;

static void make_sockets(void) {
    BIO_METHOD *made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "larder's socket");
    if (made == NULL) return;
    BIO_meth_set_write_ex(made, socket_write);
    BIO_meth_set_read_ex(made, socket_read);
    BIO_meth_set_ctrl(made, socket_control);
    sockets = made;
}

int larder_ssl_set_socket(SSL *ssl, int descriptor) {
    pthread_once(&sockets_once, make_sockets);
    BIO *bio = sockets == NULL ? NULL : BIO_new(sockets);
    if (bio == NULL) return 0;
    BIO_set_data(bio, (void *)((intptr_t)descriptor << 1));
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    return 1;
}

void larder_ssl_hold(SSL *ssl, int is_on) {
    BIO *bio = SSL_get_wbio(ssl);
    if (bio != NULL) BIO_set_data(bio, (void *)((data_of(bio) & ~(intptr_t)held) | (is_on ? held : 0)));
}
