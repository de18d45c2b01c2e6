/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that upload in all shapes, and look at every octet that they get. */
#include "uploads.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

enum { PATIENCE = 60, PIPELINED = 4 };
/* Where a client stops in the middle of its request. */
enum stop { NEVER, FOR_A_WHILE, FOR_GOOD, BY_ENDING, BY_CLOSING, BY_RESETTING };

struct client {
    struct wire wire;
    uint64_t number, drawn;
    /* Keeps to the rules, and so does its origin: every answer has to come, whole. */
    bool is_good;
    int left_on_connection;
    double gives_up;
    /* The requests under way, all of their octets, and where in them the client is. */
    struct upload uploads[PIPELINED];
    int first, last;
    uint8_t *output;
    size_t sent, end, room, piece, stops_at, head_end;
    enum stop stop;
    double pause;
    bool is_connecting, waits_for_100;
    /* The answer that is being read. */
    bool is_in_content, is_chunked, is_tunnel, is_last, has_mine;
    struct chunks chunks;
    size_t length, received, leaves_after;
    double deaf_until;
};

static struct client *clients;
static int client_count, daemon_port, ports[2];
static uint64_t next_number, wanted, seed;

void begin_clients(int count, int port, const int *origin_ports, uint64_t uploads, uint64_t chosen_seed) {
    clients = calloc((size_t)count, sizeof *clients);
    for (int index = 0; index < count; index++) clients[index].wire.socket = -1;
    client_count = count;
    daemon_port = port;
    ports[0] = origin_ports[0];
    ports[1] = origin_ports[1];
    wanted = uploads;
    seed = chosen_seed;
}

/* The number drawn follows from the seed and the client's number alone. */
static uint32_t draw(struct client *client, uint32_t below) {
    return below == 0 ? 0 : (uint32_t)(mixed(seed ^ client->number << 20 ^ client->drawn++) >> 16) % below;
}

static bool chance(struct client *client, uint32_t of_thousand) { return draw(client, 1000) < of_thousand; }

/* Making requests. */

static void add(struct client *client, const void *octets, size_t count) {
    if (client->end + count > client->room) {
        client->room = (client->end + count) * 2;
        client->output = realloc(client->output, client->room);
    }
    memcpy(client->output + client->end, octets, count);
    client->end += count;
}

static void add_text(struct client *client, const char *format, ...) {
    static char text[4096];
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    add(client, text, (size_t)count);
}

static void add_upload(struct client *client, struct upload upload) {
    static const uint32_t sizes[] = {0, 1, 100, 2000, 9000, 30000, 70000, 300000, LARGEST};
    size_t size = sizes[draw(client, chance(client, 30) ? 9 : 7)];
    if (size > 100) size -= draw(client, (uint32_t)size / 2);
    int port = ports[client->is_good ? 0 : 1];
    bool is_switch = upload.mode == SWITCHES, is_chunked = chance(client, 400);
    const char *method = is_switch && chance(client, 900) ? "GET" : chance(client, 500) ? "POST" : "PUT";
    char path[96];
    snprintf(path, sizeof path, "/%s/%u/%u/%llu", mode_names[upload.mode], upload.amount, upload.size,
             (unsigned long long)upload.number);
    if (chance(client, 300))
        add_text(client, "%s /%s%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n", method, client->is_good ? "good" : "bad", path,
                 daemon_port);
    else
        add_text(client, "%s http://127.0.0.1:%d%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n", method, port, path, port);
    if (is_switch)
        add_text(client, "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n");
    client->waits_for_100 = chance(client, 250);
    if (client->waits_for_100) add_text(client, "Expect: 100-continue\r\n");
    add_text(client, is_chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "Content-Length: %zu\r\n\r\n", size);
    client->head_end = client->end;
    size_t step = !is_chunked || chance(client, 500) ? 65536 : 50 + draw(client, 5000);
    for (size_t at = 0; at < size; at += step) {
        size_t count = size - at < step ? size - at : step;
        if (is_chunked) add_text(client, "%zx\r\n", count);
        add(client, content(upload.number, false, at), count);
        if (is_chunked) add(client, "\r\n", 2);
    }
    if (is_chunked) add(client, "0\r\n\r\n", 5);
}

static struct upload drawn_upload(struct client *client) {
    static const uint8_t weights[MODES] = {2, 1, 6, 2, 6, 2, 1, 2, 1};
    struct upload upload = {PLAIN, 0, 0, ++counts.begun};
    if (client->is_good) upload.mode = chance(client, 200) ? SLOW : chance(client, 200) ? HINTS : PLAIN;
    else
        for (uint32_t at = draw(client, 23); at >= weights[upload.mode]; upload.mode++) at -= weights[upload.mode];
    upload.amount = chance(client, 300) ? 0 : draw(client, chance(client, 500) ? 3000 : 100000);
    upload.size = chance(client, 300) ? 0 : draw(client, chance(client, 900) ? 5000 : 200000);
    return upload;
}

/* One request, or several at once, and how they are sent. */
static void begin_requests(struct client *client) {
    client->sent = client->end = client->head_end = 0;
    client->first = client->last = 0;
    int count = chance(client, 100) ? 1 + (int)draw(client, PIPELINED) : 1;
    while (client->last < count) {
        struct upload upload = drawn_upload(client);
        if (upload.mode == SWITCHES && client->last > 0) upload.mode = PLAIN;
        add_upload(client, upload);
        client->uploads[client->last++] = upload;
        if (upload.mode == SWITCHES) break;
    }
    if (client->last > 1) client->waits_for_100 = false;
    client->piece = chance(client, 300) ? client->end : 1 + client->end / (1 + draw(client, 40));
    client->pause = chance(client, 700) ? 0 : draw(client, 2000) / 1e6;
    client->stop = NEVER;
    client->leaves_after = SIZE_MAX;
    client->deaf_until = 0;
    if (client->is_good) return;
    uint32_t kind = draw(client, 1000);
    client->stop = kind < 150 ? FOR_A_WHILE : kind < 153 ? FOR_GOOD : kind < 190 ? BY_ENDING : kind < 230 ? BY_CLOSING
        : kind < 290 ? BY_RESETTING : NEVER;
    client->stops_at = draw(client, (uint32_t)client->end);
    if (chance(client, 50)) client->deaf_until = now() + draw(client, 100) / 1e3;
    if (chance(client, 50)) client->leaves_after = draw(client, 4000);
}

/* Ending. */

static void finish(struct client *client, bool resets) {
    if (client->first < client->last) counts.ended++;
    while (client->first < client->last) {
        counts.by_mode[client->uploads[client->first++].mode]++;
        counts.uploads++;
    }
    if (client->wire.socket >= 0) shut(&client->wire, resets);
}

static void fail(struct client *client, const char *reason) {
    struct upload *upload = &client->uploads[client->first];
    wrong("%s (%s/%u/%u/%llu, client %llu, %zu of %zu octets sent, %zu received%s)", reason, mode_names[upload->mode],
          upload->amount, upload->size, (unsigned long long)upload->number, (unsigned long long)client->number,
          client->sent, client->end, client->received, client->is_good ? ", keeps to the rules" : "");
    finish(client, true);
}

static void lose(struct client *client) {
    if (client->is_good) fail(client, "the connection ended without a whole answer");
    else finish(client, false);
}

/* Sending. */

static void send_some(struct client *client) {
    struct wire *wire = &client->wire;
    while (client->sent < client->end && wire->resumes == 0) {
        size_t limit = client->sent + client->piece < client->end ? client->sent + client->piece : client->end;
        if (client->waits_for_100 && client->sent < client->head_end && limit > client->head_end)
            limit = client->head_end;
        bool stops = client->stop != NEVER && client->stops_at <= limit;
        if (stops && client->stops_at >= client->sent) limit = client->stops_at;
        ssize_t count = limit == client->sent
            ? 0 : send(wire->socket, client->output + client->sent, limit - client->sent, MSG_DONTWAIT);
        if (count < 0 && errno == EAGAIN) return watch(wire, EPOLLOUT | (client->deaf_until > 0 ? 0 : EPOLLIN));
        if (count < 0) {
            /* An answer may be there that came before the end. */
            client->sent = client->end;
            break;
        }
        client->sent += (size_t)count;
        if (stops && client->sent >= client->stops_at) {
            enum stop stop = client->stop;
            client->stop = NEVER;
            switch (stop) {
            case BY_CLOSING: return finish(client, false);
            case BY_RESETTING: return finish(client, true);
            case BY_ENDING: shutdown(wire->socket, SHUT_WR); /* fallthrough */
            case FOR_GOOD: client->sent = client->end; break;
            default: wire->resumes = now() + draw(client, 50) / 1e3;
            }
        } else if (client->waits_for_100 && client->sent == client->head_end) {
            wire->resumes = now() + 0.01;
        } else if (client->sent < client->end) {
            wire->resumes = now() + client->pause;
        }
    }
    watch(wire, client->deaf_until > 0 ? EPOLLERR : EPOLLIN);
}

static void next(struct client *client) {
    client->is_in_content = client->is_tunnel = false;
    client->received = 0;
    client->gives_up = now() + PATIENCE;
    if (client->first < client->last) return;
    if (--client->left_on_connection <= 0 || client->sent < client->end || counts.begun >= wanted)
        return finish(client, false);
    begin_requests(client);
    send_some(client);
}

/* Receiving. False when the client is done with what has come. */

static bool begin_answer(struct client *client) {
    struct wire *wire = &client->wire;
    size_t end = take_head(wire);
    if (end == 0) return false;
    const char *head = (const char *)wire->input, *number = field(head, "x-number");
    struct upload *upload = &client->uploads[client->first];
    int status = strncmp(head, "HTTP/1.1 ", 9) == 0 ? atoi(head + 9) : 0;
    client->has_mine = number != NULL;
    if (status < 100 || status > 599) return fail(client, "what came is not HTTP"), false;
    if (number != NULL && strtoull(number, NULL, 10) != upload->number)
        return fail(client, "the answer is another's"), false;
    if (status == 101 && upload->mode != SWITCHES) return fail(client, "101 where nobody switches"), false;
    if (client->is_good && status >= 200 && (status != 200 || number == NULL)) {
        fprintf(stderr, "%s\n", head);
        return fail(client, "an error where nothing was wrong"), false;
    }
    if (status < 200 && status != 101) {
        if (status == 100) client->wire.resumes = client->wire.resumes > 0 ? 1e-9 : 0;
        drop(wire, end);
        return true;
    }
    const char *length = field(head, "content-length"), *connection = field(head, "connection");
    client->is_chunked = field(head, "transfer-encoding") != NULL;
    client->length = length == NULL ? 0 : strtoul(length, NULL, 10);
    client->is_last = connection != NULL && strncasecmp(connection, "close", 5) == 0;
    client->is_tunnel = status == 101;
    if (status != 101 && length == NULL && !client->is_chunked)
        return fail(client, "an answer without a length"), false;
    client->chunks = (struct chunks){0};
    client->received = 0;
    client->is_in_content = true;
    if (number == NULL && status != 101) counts.errors++;
    else if (status == 413) counts.refusals++;
    else if (status == 101) counts.switched++;
    else counts.answers++;
    drop(wire, end);
    return true;
}

static bool read_tunnel(struct client *client) {
    struct wire *wire = &client->wire;
    if (wire->held < 5) return false;
    if (memcmp(wire->input, "hello", 5) != 0) return fail(client, "the other protocol begins wrongly"), false;
    /* The content not yet sent goes as octets of the other protocol; or the client leaves. */
    bool leaves = chance(client, 500) || client->sent == client->end;
    if (leaves) return finish(client, chance(client, 500)), false;
    wire->held = 0;
    client->length += 1;
    if (client->length > 3) return finish(client, chance(client, 500)), false;
    return false;
}

static bool read_content(struct client *client) {
    struct wire *wire = &client->wire;
    if (client->is_tunnel) return read_tunnel(client);
    ssize_t count = (ssize_t)(client->length - client->received);
    if (client->is_chunked) count = next_chunk(wire, &client->chunks);
    if (count < 0) return fail(client, "malformed chunks"), false;
    if ((size_t)count > wire->held) count = (ssize_t)wire->held;
    struct upload *upload = &client->uploads[client->first];
    if (client->has_mine && count > 0 &&
        !is_content(upload->number, true, client->received, wire->input, (size_t)count))
        return fail(client, "content of another"), false;
    client->received += (size_t)count;
    client->chunks.left -= client->is_chunked ? (size_t)count : 0;
    if (count > 0) drop(wire, (size_t)count);
    if (client->received > client->leaves_after) return finish(client, chance(client, 500)), false;
    if (client->is_chunked ? client->chunks.phase != ALL : client->received < client->length) return count > 0;
    if (client->has_mine && client->received != upload->size)
        return fail(client, "an answer passed off as whole"), false;
    counts.by_mode[upload->mode]++;
    counts.uploads++;
    client->first++;
    if (client->is_last && client->first < client->last && client->is_good)
        return fail(client, "the connection ended before all answers"), false;
    if (client->is_last) return finish(client, false), false;
    next(client);
    return client->wire.socket >= 0 && client->first < client->last;
}

void client_event(struct wire *wire, uint32_t events) {
    struct client *client = (struct client *)wire;
    if (client->is_connecting) {
        int error = 0;
        socklen_t length = sizeof error;
        getsockopt(wire->socket, SOL_SOCKET, SO_ERROR, &error, &length);
        if (error != 0) {
            wrong("the daemon cannot be reached: %s", strerror(error));
            return finish(client, false);
        }
        client->is_connecting = false;
        begin_requests(client);
        return send_some(client);
    }
    if (events & EPOLLOUT) send_some(client);
    if (wire->socket < 0 || !(events & (EPOLLIN | EPOLLHUP | EPOLLERR))) return;
    ssize_t count = take(wire);
    if (count < 0) return lose(client);
    if (count > 0) client->gives_up = now() + PATIENCE;
    while (wire->socket >= 0 && (client->is_in_content ? read_content(client) : begin_answer(client))) {}
}

static void connect_client(struct client *client) {
    client->number = ++next_number;
    client->drawn = 0;
    client->is_good = chance(client, 200);
    client->left_on_connection = 1 + (int)draw(client, 8);
    client->first = client->last = 0;
    client->is_in_content = client->is_tunnel = false;
    client->received = 0;
    client->gives_up = now() + PATIENCE;
    int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), yes = 1, small = 4096;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (!client->is_good && chance(client, 100)) setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    struct sockaddr_in address = {AF_INET, htons((uint16_t)daemon_port), {htonl(INADDR_LOOPBACK)}, {0}};
    client->wire = (struct wire){.socket = socket_};
    client->is_connecting = true;
    if (connect(socket_, (struct sockaddr *)&address, sizeof address) != 0 && errno != EINPROGRESS) {
        wrong("the daemon cannot be reached: %s", strerror(errno));
        return finish(client, false);
    }
    watch(&client->wire, EPOLLOUT);
}

bool client_time(double at) {
    bool is_busy = false;
    for (int index = 0; index < client_count; index++) {
        struct client *client = &clients[index];
        if (client->wire.socket < 0) {
            if (counts.begun >= wanted) continue;
            connect_client(client);
        }
        is_busy = true;
        if (client->is_connecting) continue;
        if (client->deaf_until > 0 && client->deaf_until <= at) {
            client->deaf_until = 0;
            watch(&client->wire, client->wire.events | EPOLLIN);
        }
        if (client->wire.resumes > 0 && client->wire.resumes <= at) {
            client->wire.resumes = 0;
            send_some(client);
        }
        if (client->wire.socket >= 0 && client->gives_up <= at) fail(client, "nothing came for a minute");
    }
    return is_busy;
}
