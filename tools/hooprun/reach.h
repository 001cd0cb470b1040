/*
 * hooprun/reach.h - finds addresses by which other hosts reach this one
 *
 * The coordinator listens on all of them. Each agent tries them all and uses
 * one that answers, so that the user need not know which one is right.
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

/* Return "0.0.0.0:0", or "[::]:0", which covers both, if this host has a global
 * IPv6 address. */
const char *
reach_listen(void);

/*
 * Turn "[::]:4000" into "10.0.0.1:4000,[fd00::1]:4000": all addresses of this
 * host except loopback and link-local ones. "0.0.0.0:4000" gives those of IPv4.
 * If there are none, loopback.
 */
void
reach_expand(const char *bound, char out_list[static REACH_LIST_BYTES]);

struct reached {
    char coordinator[REACH_ADDRESS_BYTES]; /* the one that answered, with its
                                              port */
    char own[REACH_ADDRESS_BYTES];         /* the local address of that
                                              connection */
};

/*
 * Connect to all addresses of the list at once, and take the first that
 * answers; among several, the one with the host preferred ("" for none). Return
 * false if none does; out_text says why, for each address.
 */
bool
reach_first(const char *list,
            const char *preferred,
            int timeout_ms,
            struct reached *out_reached,
            char out_text[static REACH_TEXT_BYTES]);

/* Return whether one of the addresses means a different host on each host; it
 * is copied to out_host. */
bool
reach_is_loopback(const char *list, char out_host[static REACH_HOST_BYTES]);

/* Return a port that is free at this local address; 0: none. */
uint16_t
reach_free_port(const char *address);

#endif
