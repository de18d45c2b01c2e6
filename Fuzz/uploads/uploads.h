/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of clients and origins of Fuzz/uploads/run: sockets, times, and which octets are of which upload. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_LIMIT = 80 << 10, LARGEST = 2000000 };

/* How an origin deals with an upload; the name is the first segment of its path. */
enum mode { PLAIN, SLOW, EARLY, ANSWERS, TEARS, HALF, HINTS, SWITCHES, NONE, MODES };
extern const char *const mode_names[MODES];

/* The path of an upload: /MODE/AMOUNT/SIZE/NUMBER. */
struct upload {
    enum mode mode;
    /* When the origin does what it does: after so many octets; or how many responses. */
    uint32_t amount;
    /* The length of the response's content. */
    uint32_t size;
    uint64_t number;
};

/* One end of a connection, and octets that came or have to go. */
struct wire {
    int socket;
    bool is_origin;
    uint32_t events;
    /* Nothing is read or sent before this, in seconds. */
    double resumes;
    uint8_t *input;
    size_t held, room;
};

struct counts {
    uint64_t begun, uploads, by_mode[MODES], answers, refusals, errors, switched, ended, wrong;
    uint64_t requests, octets;
};
extern struct counts counts;
/* Whether the clients are those of clients.c, whose octets are known. */
extern bool has_clients;

double now(void);
uint64_t mixed(uint64_t number);

/* The octets of an upload from `start` on, at least 64 KiB of them; `answer` asks for those of its response. */
const uint8_t *content(uint64_t number, bool answer, size_t start);
bool is_content(uint64_t number, bool answer, size_t start, const uint8_t *octets, size_t count);
void make_content(void);

/* Says that something happened which must never happen. */
void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

bool read_path(const char *path, struct upload *upload);
/* The value of a field of a head, which ends with NUL; NULL without one. */
const char *field(const char *head, const char *name);

void watch(struct wire *wire, uint32_t events);
void forget(struct wire *wire);
/* Closes, with a reset if asked to. */
void shut(struct wire *wire, bool resets);
/* Reads what there is: >0 octets, 0 for nothing yet, -1 for the end, -2 for an error. */
ssize_t take(struct wire *wire);
void drop(struct wire *wire, size_t count);
/* The length of the head at the beginning of the input, its blank line replaced by NUL; 0 when it is not whole. */
size_t take_head(struct wire *wire);

/* Reads content in chunks; `left` and `phase` are the reader's, at first 0. */
struct chunks {
    size_t left;
    enum { SIZE_LINE, DATA, DATA_END, TRAILERS, ALL } phase;
};
/* Octets of content at the beginning of the input after framing was taken off, at most `held`; -1: malformed. */
ssize_t next_chunk(struct wire *wire, struct chunks *chunks);

void serve_origin(int listener, bool is_good);
void origin_event(struct wire *wire, uint32_t events);
void origin_time(double at);
void begin_clients(int clients, int port, const int *origin_ports, uint64_t uploads, uint64_t seed);
void client_event(struct wire *wire, uint32_t events);
/* False when all uploads have been made. */
bool client_time(double at);
