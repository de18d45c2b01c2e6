/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COPENSSL_H
#define COPENSSL_H
#include <openssl/ssl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* Swift imports OpenSSL's functions but none of its function-like macros, and no constant that is written with a cast.
   Each function here stands for one of those. */

/* Macro over SSL_CTX_ctrl. */
static inline int larder_ssl_ctx_require_tls12(SSL_CTX *context) {
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
}

/* Macro over SSL_CTX_ctrl. A write may take part of what it is offered, and may be offered it again from another
   place; buffers of idle connections are given back; a certificate is sent with the issuers of its file, without a
   search for others at each handshake. */
static inline void larder_ssl_ctx_set_modes(SSL_CTX *context) {
    SSL_CTX_set_mode(
        context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS
            | SSL_MODE_NO_AUTO_CHAIN);
}

/* The SSL_OP_ constants are written with a cast. */
static inline void larder_ssl_ctx_refuse_renegotiation(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
}

/* Macro over SSL_CTX_ctrl. Sessions are handed to the callback and not kept by OpenSSL, which does not know hosts. */
static inline void larder_ssl_ctx_hand_out_client_sessions(SSL_CTX *context) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
}

/* Macro over SSL_ctrl with a cast. */
static inline int larder_ssl_set_server_name(SSL *ssl, const char *name) {
    return (int)SSL_set_tlsext_host_name(ssl, name);
}

/* Macro over SSL_CTX_ctrl. Sessions are the clients' to keep, as tickets: nothing is remembered for who may not come
   again. */
static inline void larder_ssl_ctx_keep_no_server_sessions(SSL_CTX *context) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

/* The same constants, and nothing for a client to resume. */
static inline void larder_ssl_ctx_resume_nothing(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(context, 0);
}

/* Macros over SSL_CTX_callback_ctrl and SSL_CTX_ctrl, with casts. */
static inline void larder_ssl_ctx_on_server_name(
    SSL_CTX *context, int (*named)(SSL *, int *, void *), void *argument) {
    SSL_CTX_set_tlsext_servername_callback(context, named);
    SSL_CTX_set_tlsext_servername_arg(context, argument);
}

/* Digests what names the holder of a certificate into 32 octets: its subject and its alternative names, or its public
   key where it has neither; answers 1. Each part begins with its length. */
static inline int larder_digest_names(const X509 *certificate, unsigned char *digest) {
    unsigned char *subject = NULL;
    const X509_NAME *name = X509_get_subject_name(certificate);
    int subject_count = i2d_X509_NAME((X509_NAME *)name, &subject);
    int place = X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1);
    const ASN1_OCTET_STRING *names =
        place < 0 ? NULL : X509_EXTENSION_get_data(X509_get_ext(certificate, place));
    unsigned char *key = NULL;
    int key_count = 0;
    if (X509_NAME_entry_count(name) == 0 && names == NULL)
        key_count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &key);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int names_count = names ? ASN1_STRING_length(names) : 0;
    int is_done = subject_count >= 0 && key_count >= 0 && context && EVP_DigestInit_ex(context, EVP_sha256(), NULL)
        && EVP_DigestUpdate(context, &subject_count, sizeof subject_count)
        && EVP_DigestUpdate(context, subject, (size_t)subject_count)
        && EVP_DigestUpdate(context, &names_count, sizeof names_count)
        && EVP_DigestUpdate(context, names ? ASN1_STRING_get0_data(names) : digest, (size_t)names_count)
        && EVP_DigestUpdate(context, key, (size_t)key_count) && EVP_DigestFinal_ex(context, digest, NULL);
    EVP_MD_CTX_free(context);
    OPENSSL_free(subject);
    OPENSSL_free(key);
    return is_done;
}

/* prctl is variadic. From here on the process leaves no core dump and is traced by nobody but root. */
static inline int larder_refuse_core_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

/* EVP_EC_gen is a macro over a variadic function. */
static inline EVP_PKEY *larder_make_p256_key(void) { return EVP_EC_gen("P-256"); }

/* Has `ssl` read and write `descriptor`, which stays the caller's. Answers 1. Like SSL_set_fd, but what is written can
   be held back. */
int larder_ssl_set_socket(SSL *ssl, int descriptor);

/* While it is on, the kernel waits for more after what `ssl` writes, and for at most 200 ms: several records leave in
   one packet. The next write without it sends all. */
void larder_ssl_hold(SSL *ssl, int is_on);

/* Sends what the kernel waits with. */
static inline void larder_send_held(int descriptor) {
    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* Digests octets with SHA-256 into 32 octets; answers 1. Takes no memory, as EVP_Digest does. */
int larder_sha256(const void *octets, size_t count, unsigned char *digest);
#endif
