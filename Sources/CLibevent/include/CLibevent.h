/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIBEVENT_H
#define CLIBEVENT_H
/* sys/types.h first: libevent's configuration header would otherwise define feature macros that change fd_set. */
#include <sys/types.h>
#include <event2/event.h>
#include <event2/dns.h>
#include <event2/util.h>
#endif
