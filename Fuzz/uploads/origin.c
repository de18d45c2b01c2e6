/* SPDX-License-Identifier: Apache-2.0 */
/* Origins that do with each upload what its path says, and look whether its octets are those of its client. */
#include "uploads.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

enum { EXCHANGES = 8192 };
enum phase { HEAD, CONTENT, DRAINS, ECHOES };

struct exchange {
    struct wire wire;
    bool is_listener, is_good;
    enum phase phase;
    struct upload upload;
    bool is_chunked, has_acted;
    struct chunks chunks;
    size_t length, received;
    /* The octets that have to be sent, and what comes after them. */
    uint8_t *output;
    size_t begin, end, room;
    enum { GOES_ON, ENDS_SENDING, CLOSES, RESETS } then;
    double gives_up;
};

static struct exchange exchanges[EXCHANGES];
static int used;

static void act(struct exchange *exchange);

void serve_origin(int listener, bool is_good) {
    struct exchange *exchange = &exchanges[used++];
    exchange->wire = (struct wire){.socket = listener, .is_origin = true};
    exchange->is_listener = true;
    exchange->is_good = is_good;
    watch(&exchange->wire, EPOLLIN);
}

static void finish(struct exchange *exchange, bool resets) {
    free(exchange->output);
    shut(&exchange->wire, resets);
    *exchange = (struct exchange){.wire.socket = -1, .wire.is_origin = true};
}

static void accept_all(struct exchange *listener) {
    static int next;
    while (true) {
        int socket = accept4(listener->wire.socket, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket < 0) return;
        int yes = 1, tries = 0;
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        do next = (next + 1) % EXCHANGES;
        while ((exchanges[next].is_listener || exchanges[next].wire.events != 0) && ++tries < EXCHANGES);
        if (tries == EXCHANGES) {
            wrong("the origin has %d connections at once", EXCHANGES);
            close(socket);
            return;
        }
        if (next >= used) used = next + 1;
        struct exchange *exchange = &exchanges[next];
        *exchange = (struct exchange){.wire = {.socket = socket, .is_origin = true}, .is_good = listener->is_good};
        watch(&exchange->wire, EPOLLIN);
    }
}

/* Answers. */

static void add(struct exchange *exchange, const void *octets, size_t count) {
    if (exchange->begin == exchange->end) exchange->begin = exchange->end = 0;
    if (exchange->end + count > exchange->room) {
        exchange->room = exchange->end + count + 4096;
        exchange->output = realloc(exchange->output, exchange->room);
    }
    memcpy(exchange->output + exchange->end, octets, count);
    exchange->end += count;
}

static void add_text(struct exchange *exchange, const char *format, ...) {
    static char text[HEAD_LIMIT];
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    add(exchange, text, (size_t)count);
}

/* A response, or so many octets of its content; in chunks for every third upload. */
static void answer(struct exchange *exchange, const char *status, size_t part) {
    struct upload *upload = &exchange->upload;
    bool is_chunked = upload->number % 3 == 0 && upload->size > 0;
    add_text(exchange, "HTTP/1.1 %s\r\nX-Number: %llu\r\nCache-Control: no-store\r\n", status,
             (unsigned long long)upload->number);
    add_text(exchange, is_chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "Content-Length: %u\r\n\r\n", upload->size);
    for (size_t at = 0; at < part; at += 16384) {
        size_t step = part - at < 16384 ? part - at : 16384;
        if (is_chunked) add_text(exchange, "%zx\r\n", step);
        add(exchange, content(upload->number, true, at), step);
        if (is_chunked) add(exchange, "\r\n", 2);
    }
    if (is_chunked && part == upload->size) add(exchange, "0\r\n\r\n", 5);
}

static void answer_all(struct exchange *exchange, const char *status) {
    answer(exchange, status, exchange->upload.size);
}

/* Sends what there is to send, and does what comes next; false when the connection is gone. */
static bool flush(struct exchange *exchange) {
    while (exchange->begin < exchange->end) {
        ssize_t sent = send(
            exchange->wire.socket, exchange->output + exchange->begin, exchange->end - exchange->begin, MSG_DONTWAIT);
        if (sent < 0 && errno == EAGAIN) {
            watch(&exchange->wire, EPOLLIN | EPOLLOUT);
            return true;
        }
        if (sent < 0) {
            finish(exchange, false);
            return false;
        }
        exchange->begin += (size_t)sent;
    }
    watch(&exchange->wire, EPOLLIN);
    switch (exchange->then) {
    case GOES_ON: return true;
    case ENDS_SENDING:
        shutdown(exchange->wire.socket, SHUT_WR);
        exchange->then = GOES_ON;
        exchange->phase = DRAINS;
        exchange->gives_up = now() + 0.02;
        return true;
    case CLOSES:
    case RESETS: finish(exchange, exchange->then == RESETS); return false;
    }
    return true;
}

/* Requests. */

static void begin(struct exchange *exchange, size_t length) {
    const char *head = (const char *)exchange->wire.input;
    const char *path = strchr(head, ' ');
    counts.requests++;
    exchange->received = exchange->length = 0;
    exchange->chunks = (struct chunks){0};
    exchange->has_acted = false;
    exchange->is_chunked = field(head, "transfer-encoding") != NULL;
    const char *announced = field(head, "content-length");
    if (announced != NULL) exchange->length = strtoul(announced, NULL, 10);
    bool is_waited_for = field(head, "expect") != NULL;
    bool is_known = path != NULL && read_path(path + 1, &exchange->upload);
    if (!is_known) wrong("the origin was sent what nobody sent: %.100s", head);
    if (is_known && exchange->upload.mode == SWITCHES && field(head, "upgrade") == NULL)
        exchange->upload.mode = PLAIN;
    drop(&exchange->wire, length);
    exchange->phase = CONTENT;
    if (!is_known) {
        add_text(exchange, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        exchange->then = CLOSES;
    } else if (exchange->upload.mode == HINTS) {
        for (uint32_t hint = 0; hint < exchange->upload.amount % 30; hint++)
            add_text(exchange, "HTTP/1.1 103 Early Hints\r\nLink: </%0*d>; rel=preload\r\n\r\n",
                     (int)(exchange->upload.number % 3 == 0 ? 50000 : 20), 1);
    }
    if (is_waited_for && is_known && (exchange->upload.amount > 0 || exchange->is_good))
        add_text(exchange, "HTTP/1.1 100 Continue\r\n\r\n");
}

/* Does what the mode says once so much of the content is here. */
static void act(struct exchange *exchange) {
    uint64_t number = exchange->upload.number;
    exchange->has_acted = true;
    switch (exchange->upload.mode) {
    case EARLY:
        answer_all(exchange, "413 Content Too Large");
        if (number % 5 == 0) exchange->then = ENDS_SENDING;
        if (number % 5 == 1) exchange->then = RESETS;
        if (number % 5 == 2) exchange->then = CLOSES;
        if (number % 5 == 3) {
            exchange->phase = DRAINS;
            exchange->gives_up = now() + 0.3;
        }
        break;
    case ANSWERS: answer_all(exchange, "200 OK"); break;
    case TEARS: exchange->then = number % 2 ? RESETS : CLOSES; break;
    case HALF:
        answer(exchange, "200 OK", exchange->upload.size / 2);
        exchange->then = number % 2 ? RESETS : CLOSES;
        break;
    case NONE: exchange->then = CLOSES; break;
    case SWITCHES:
        add_text(exchange, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                           "Upgrade: websocket\r\n\r\nhello");
        exchange->phase = ECHOES;
        break;
    case PLAIN:
    case SLOW:
    case HINTS:
    case MODES: answer_all(exchange, "200 OK"); break;
    }
}

/* Whether the mode acts now. */
static bool is_time(struct exchange *exchange, bool is_all) {
    switch (exchange->upload.mode) {
    case PLAIN:
    case SLOW:
    case HINTS: return is_all;
    case NONE: return true;
    case SWITCHES: return is_all || exchange->upload.number % 2;
    default: return is_all || exchange->received >= exchange->upload.amount;
    }
}

/* Goes through what has come; false when the connection is gone. */
static bool advance(struct exchange *exchange) {
    struct wire *wire = &exchange->wire;
    while (exchange->then == GOES_ON) {
        if (exchange->phase == DRAINS) {
            wire->held = 0;
            break;
        }
        if (exchange->phase == ECHOES) {
            add(exchange, wire->input, wire->held);
            wire->held = 0;
            break;
        }
        if (exchange->phase == HEAD) {
            size_t length = take_head(wire);
            if (length == 0) break;
            begin(exchange, length);
            if (exchange->then != GOES_ON) break;
        }
        ssize_t count = (ssize_t)(exchange->length - exchange->received);
        if (exchange->is_chunked) count = next_chunk(wire, &exchange->chunks);
        if (count < 0) {
            wrong("the origin was sent malformed chunks with upload %llu", (unsigned long long)exchange->upload.number);
            finish(exchange, true);
            return false;
        }
        if ((size_t)count > wire->held) count = (ssize_t)wire->held;
        /* A little at a time, so that modes act in the middle. */
        if (!exchange->has_acted && exchange->received < exchange->upload.amount &&
            exchange->received + (size_t)count > exchange->upload.amount)
            count = (ssize_t)(exchange->upload.amount - exchange->received);
        if (count > 0) {
            if (has_clients &&
                !is_content(exchange->upload.number, false, exchange->received, wire->input, (size_t)count))
                wrong("upload %llu came with octets that are not its own, from %zu on",
                      (unsigned long long)exchange->upload.number, exchange->received);
            exchange->received += (size_t)count;
            exchange->chunks.left -= exchange->is_chunked ? (size_t)count : 0;
            counts.octets += (uint64_t)count;
            drop(wire, (size_t)count);
        }
        bool is_all = exchange->is_chunked ? exchange->chunks.phase == ALL : exchange->received == exchange->length;
        if (!exchange->has_acted && is_time(exchange, is_all)) {
            act(exchange);
            if (exchange->phase != CONTENT) continue;
        }
        if (is_all && exchange->has_acted) exchange->phase = HEAD;
        else if (count == 0) break;
    }
    return flush(exchange);
}

void origin_event(struct wire *wire, uint32_t events) {
    struct exchange *exchange = (struct exchange *)wire;
    if (exchange->is_listener) return accept_all(exchange);
    if (events & EPOLLOUT && !flush(exchange)) return;
    if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR))) return;
    ssize_t count = take(wire);
    if (count < 0) return finish(exchange, false);
    bool is_slow = exchange->upload.mode == SLOW && exchange->phase == CONTENT;
    if (!advance(exchange) || !is_slow) return;
    wire->resumes = now() + 0.002;
    watch(wire, EPOLLERR);
}

void origin_time(double at) {
    for (int index = 0; index < used; index++) {
        struct exchange *exchange = &exchanges[index];
        if (exchange->wire.events == 0 || exchange->is_listener) continue;
        if (exchange->wire.resumes > 0 && exchange->wire.resumes <= at) {
            exchange->wire.resumes = 0;
            watch(&exchange->wire, EPOLLIN);
        }
        if (exchange->gives_up > 0 && exchange->gives_up <= at) finish(exchange, exchange->upload.number % 2);
    }
}
