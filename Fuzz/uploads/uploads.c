/* SPDX-License-Identifier: Apache-2.0 */
/* One thread that is hundreds of clients and their origins. Fuzz/uploads/run starts it, and says how. */
#include "uploads.h"

#include <signal.h>
#include <time.h>

const char *const mode_names[MODES] = {
    "plain", "slow", "early", "answers", "tears", "half", "hints", "switches", "none",
};
struct counts counts;
bool has_clients;
static int poller;
static bool has_ended;

double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

uint64_t mixed(uint64_t number) {
    number += 0x9E3779B97F4A7C15;
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9;
    number = (number ^ number >> 27) * 0x94D049BB133111EB;
    return number ^ number >> 31;
}

void wrong(const char *format, ...) {
    if (counts.wrong++ >= 20) return;
    va_list arguments;
    va_start(arguments, format);
    printf("uploads: WRONG: ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
}

/* Content: a period of random octets, entered where the number says. */

enum { PERIOD = 65536 };
static uint8_t octets[2 * PERIOD];

void make_content(void) {
    for (size_t index = 0; index < PERIOD; index++) octets[index] = octets[index + PERIOD] = (uint8_t)mixed(index);
}

const uint8_t *content(uint64_t number, bool answer, size_t start) {
    return octets + (mixed(2 * number + answer) + start) % PERIOD;
}

bool is_content(uint64_t number, bool answer, size_t start, const uint8_t *found, size_t count) {
    for (size_t at = 0; at < count; at += PERIOD) {
        size_t step = count - at < PERIOD ? count - at : PERIOD;
        if (memcmp(found + at, content(number, answer, start + at), step) != 0) return false;
    }
    return true;
}

bool read_path(const char *path, struct upload *upload) {
    char name[16];
    unsigned long long number;
    if (sscanf(path, "/%15[a-z]/%u/%u/%llu", name, &upload->amount, &upload->size, &number) != 4) return false;
    upload->number = number;
    for (upload->mode = 0; upload->mode < MODES; upload->mode++)
        if (strcmp(name, mode_names[upload->mode]) == 0) return true;
    return false;
}

const char *field(const char *head, const char *name) {
    size_t length = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line != NULL; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, length) != 0 || line[2 + length] != ':') continue;
        const char *value = line + 3 + length;
        return value + strspn(value, " \t");
    }
    return NULL;
}

/* Sockets. */

void watch(struct wire *wire, uint32_t events) {
    if (events == wire->events) return;
    struct epoll_event event = {.events = events, .data.ptr = wire};
    int operation = wire->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (epoll_ctl(poller, operation, wire->socket, &event) != 0) perror("epoll_ctl");
    wire->events = events;
}

void forget(struct wire *wire) {
    free(wire->input);
    *wire = (struct wire){.socket = -1, .is_origin = wire->is_origin};
}

void shut(struct wire *wire, bool resets) {
    struct linger linger = {1, 0};
    if (resets) setsockopt(wire->socket, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(wire->socket);
    forget(wire);
}

ssize_t take(struct wire *wire) {
    if (wire->room < wire->held + 65536) {
        wire->room = wire->held + 65536 + HEAD_LIMIT;
        wire->input = realloc(wire->input, wire->room);
    }
    ssize_t count = recv(wire->socket, wire->input + wire->held, 65536, MSG_DONTWAIT);
    if (count == 0) return -1;
    if (count < 0) return errno == EAGAIN || errno == EINTR ? 0 : -2;
    wire->held += (size_t)count;
    return count;
}

void drop(struct wire *wire, size_t count) {
    memmove(wire->input, wire->input + count, wire->held - count);
    wire->held -= count;
}

size_t take_head(struct wire *wire) {
    uint8_t *end = wire->held == 0 ? NULL : memmem(wire->input, wire->held, "\r\n\r\n", 4);
    if (end == NULL) return 0;
    *end = 0;
    return (size_t)(end - wire->input) + 4;
}

ssize_t next_chunk(struct wire *wire, struct chunks *chunks) {
    while (true) {
        if (chunks->phase == ALL) return 0;
        if (chunks->phase == DATA) {
            if (chunks->left > 0) return (ssize_t)(chunks->left < wire->held ? chunks->left : wire->held);
            chunks->phase = DATA_END;
        }
        uint8_t *end = wire->held == 0 ? NULL : memmem(wire->input, wire->held, "\r\n", 2);
        if (end == NULL) return 0;
        size_t length = (size_t)(end - wire->input);
        if (chunks->phase == SIZE_LINE) {
            char *after;
            *end = 0;
            chunks->left = strtoul((char *)wire->input, &after, 16);
            if (after == (char *)wire->input) return -1;
            chunks->phase = chunks->left == 0 ? TRAILERS : DATA;
        } else if (chunks->phase == DATA_END) {
            if (length != 0) return -1;
            chunks->phase = SIZE_LINE;
        } else if (length == 0) {
            chunks->phase = ALL;
        }
        drop(wire, length + 2);
    }
}

/* The loop. */

static void end(int signal) {
    (void)signal;
    has_ended = true;
}

static void tell(double began, double at) {
    printf("uploads: %6.0f s, %llu uploads, %llu answers of origins, %llu refused, %llu errors, %llu switched, %llu "
           "ended without an answer; at origins: %llu requests, %.0f MiB\n",
           at - began, (unsigned long long)counts.uploads, (unsigned long long)counts.answers,
           (unsigned long long)counts.refusals, (unsigned long long)counts.errors,
           (unsigned long long)counts.switched, (unsigned long long)counts.ended,
           (unsigned long long)counts.requests, (double)counts.octets / 1048576);
    fflush(stdout);
}

/* uploads PORT GOOD-SOCKET GOOD-PORT BAD-SOCKET BAD-PORT CLIENTS UPLOADS SEED; without uploads, origins alone. */
int main(int count, char **arguments) {
    if (count != 9) return 2;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, end);
    poller = epoll_create1(EPOLL_CLOEXEC);
    make_content();
    int ports[2] = {atoi(arguments[3]), atoi(arguments[5])};
    serve_origin(atoi(arguments[2]), true);
    serve_origin(atoi(arguments[4]), false);
    uint64_t uploads = strtoull(arguments[7], NULL, 10);
    has_clients = uploads > 0;
    if (has_clients)
        begin_clients(atoi(arguments[6]), atoi(arguments[1]), ports, uploads, strtoull(arguments[8], NULL, 10));
    double began = now(), told = began;
    while (!has_ended) {
        struct epoll_event events[256];
        int ready = epoll_wait(poller, events, 256, 1);
        for (int index = 0; index < ready; index++) {
            struct wire *wire = events[index].data.ptr;
            /* Closed by what another event of this turn brought about. */
            if (wire->socket < 0) continue;
            (wire->is_origin ? origin_event : client_event)(wire, events[index].events);
        }
        double at = now();
        origin_time(at);
        if (has_clients && !client_time(at)) break;
        if (at - told >= 10 && has_clients) {
            tell(began, at);
            told = at;
        }
        if (counts.wrong >= 20) break;
    }
    tell(began, now());
    for (int mode = 0; mode < MODES && has_clients; mode++)
        printf("uploads: %-9s %llu\n", mode_names[mode], (unsigned long long)counts.by_mode[mode]);
    return counts.wrong > 0;
}
