/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIBEVENT_H
#define CLIBEVENT_H
/* sys/types.h first: libevent's configuration header would otherwise define feature macros that change fd_set. */
#include <sys/types.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/inet_diag.h>
#include <event2/event.h>
#include <event2/dns.h>
#include <event2/util.h>

/* accept4 is a GNU extension that Swift's view of glibc does not show. Answers -1 with errno like accept4;
   the socket is non-blocking and closed on exec. */
int larder_accept(int listener, struct sockaddr *address, socklen_t *length);

/* pthread_setname_np is a GNU extension too. Names the calling thread; longer than 15 octets is cut. */
void larder_name_thread(const char *name);

/* sched_setattr has no wrapper in glibc 2.36. Where others want the processor too, the calling thread gets it sooner
   and for that long at a time, and no more of it in all (Linux 6.12; earlier kernels change nothing). */
void larder_shorten_slice(unsigned long nanoseconds);

/* struct ucred and SO_PEERCRED are GNU extensions. Answers 0 and the peer's user id of a Unix socket, or -1. */
int larder_peer_user(int fd, uid_t *user);

/* Retains an object of Swift unless its last reference has gone, and returns it, or NULL. The object is not freed
 * meanwhile. The function is the runtime's own, by which weak references are loaded. */
void *swift_tryRetain(void *object);
static inline void *larder_try_retain(void *object) { return swift_tryRetain(object); }

/* ioctl takes arguments of any kind, which Swift cannot pass. Answers how many octets written to a TCP socket its peer
   has not acknowledged (TIOCOUTQ, tcp(7)); 0 also if that cannot be told. */
int larder_unconfirmed(int fd);

/* pipe2 is a GNU extension. Answers -1 with errno like pipe; both ends are closed on exec. */
int larder_pipe(int ends[2]);

/* malloc_trim is in a header that Swift's view of glibc leaves out. Gives every whole page that holds nothing back to
   the system, whichever thread it was freed by. */
void larder_release_memory(void);

/* pidfd_open and posix_spawn_file_actions_addclosefrom_np are extensions. Starts the program at `path` in a process
   group of its own, with `input`, `output` and `errors` as its first three descriptors and no others, signals as a
   new program expects them. Answers its process id and gives a descriptor that becomes readable when it ends; or
   answers the negated error number. */
pid_t larder_spawn(
    const char *path, char *const arguments[], char *const environment[], int input, int output, int errors,
    int *ending);
#endif
