/*
 * rpc/method.h - the table of all RPC methods
 *
 * docs/rpc.md lists them in the same order; a test compares the two.
 */

#ifndef RPC_METHOD_H
#define RPC_METHOD_H

#include <stddef.h>
#include <stdint.h>

#include "base/role.h"

/* The order is that of the table. */
enum method_id {
    METHOD_RENDEZVOUS_JOIN,
    METHOD_RENDEZVOUS_LEAVE,
    METHOD_RENDEZVOUS_RENEW,
    METHOD_RENDEZVOUS_REPORT,
    METHOD_RENDEZVOUS_WATCH,
    METHOD_RENDEZVOUS_MEMBERS,
    METHOD_STORE_SET,
    METHOD_STORE_GET,
    METHOD_STORE_WAIT,
    METHOD_STORE_ADD,
    METHOD_STORE_COMPARE_SET,
    METHOD_STORE_DELETE,
    METHOD_STORE_MULTI_GET,
    METHOD_STORE_LIST,
    METHOD_STORE_WATCH,
    METHOD_GROUPS_CREATE,
    METHOD_GROUPS_GET,
    METHOD_GROUPS_LIST,
    METHOD_GROUPS_JOIN,
    METHOD_GROUPS_LEAVE,
    METHOD_GROUPS_AGREE,
    METHOD_GROUPS_AWAITED,
    METHOD_HEALTH_CHECK,
    METHOD_STATUS_JOBS,
    METHOD_STATUS_JOB,
    METHOD_AUTH_CHALLENGE,
    METHOD_AUTH_PROVE,
};

/* What happens if a request arrives twice because the client has sent it
 * again. */
enum method_effect {
    METHOD_READS,   /* it changes nothing and is answered again */
    METHOD_REPEATS, /* it changes something, but applying it twice does no
                       harm */
    METHOD_CHANGES, /* it is applied once; the first reply is kept and sent
                       again */
};

enum method_answer {
    METHOD_AT_ONCE,
    METHOD_LONG_POLL, /* may be parked until the request's deadline */
};

struct method {
    enum method_id id;
    const char *name; /* "hoop.v1.<Service>/<Method>" */
    enum method_effect effect;
    enum method_answer answer;
    enum role role;          /* the least privileged role that may call it */
    const char *description; /* one line */
};

/* Find a method by its name of n_name bytes, which need no final 0. NULL: there
 * is no such method. */
const struct method *
method_find(const char *name, size_t n_name);

/* Return the method's row; never NULL. */
const struct method *
method_by_id(enum method_id id);

/* The table in its order; method_by_index() returns NULL from method_count() on. */
size_t
method_count(void);
const struct method *
method_by_index(size_t index);

#endif
