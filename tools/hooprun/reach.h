/*
 * hooprun/reach.h - addresses by which other hosts reach this one
 *
 * The coordinator listens on all of them. Each agent tries them all and takes
 * what answers, so that nobody has to know which one is right.
 */

#ifndef HOOPRUN_REACH_H
#define HOOPRUN_REACH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    REACH_LIST_BYTES = 2048,
    REACH_ADDRESS_BYTES = 64,
    REACH_TEXT_BYTES = 512,
    REACH_TRIED_MAX = 32,
    REACH_HOST_BYTES = HOST_NAME_MAX + REACH_ADDRESS_BYTES,
};

/* "0.0.0.0:0", or "[::]:0", which is both, where this host has a global IPv6
 * address. */
const char *
reach_listen(void);

/*
 * "[::]:4000" as "10.0.0.1:4000,[fd00::1]:4000": each address of this host but
 * loopback and link-local ones, "0.0.0.0:4000" as those of IPv4; without any,
 * loopback.
 */
void
reach_expand(const char *bound, char out_list[static REACH_LIST_BYTES]);

struct reached {
    char coordinator[REACH_ADDRESS_BYTES]; /* that answered, with its port */
    char own[REACH_ADDRESS_BYTES];         /* from which it was reached */
};

/*
 * Connect to all addresses of the list at once, and take the first that
 * answers, of several that do the one with the host preferred ("" for none).
 * False: out_text says of each address why not.
 */
bool
reach_first(const char *list,
            const char *preferred,
            int timeout_ms,
            struct reached *out_reached,
            char out_text[static REACH_TEXT_BYTES]);

/* Whether one of these addresses is another host on each host: out_host. */
bool
reach_is_loopback(const char *list, char out_host[static REACH_HOST_BYTES]);

/* A port that nobody has at this address of ours; 0: there is none. */
uint16_t
reach_free_port(const char *address);

#endif
