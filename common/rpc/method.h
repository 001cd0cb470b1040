/*
 * rpc/method.h - the methods of the coordinator, one row each
 *
 * The numbers, names, kinds, roles and bodies of the methods follow from this
 * list; a test compares it with docs/rpc.md, whose order it has.
 */

#ifndef RPC_METHOD_H
#define RPC_METHOD_H

#include <stddef.h>

#include "base/role.h"
#include "rpc/messages/auth_messages.h"
#include "rpc/messages/group_messages.h"
#include "rpc/messages/message.h"
#include "rpc/messages/rendezvous_messages.h"
#include "rpc/messages/status_messages.h"
#include "rpc/messages/store_messages.h"

/* A body that is not there, and its descriptor. */
struct empty_body {
    char unused;
};

static inline const struct message_descriptor *
empty_body_descriptor(void)
{
    return NULL;
}

/*
 * CORE(number, name, effect, need, answer, the least privileged role that may
 *      call it, body of the request, body of the reply, one line that describes
 *      it, kind of the event that the request becomes (server/core/event.h)):
 *      a method that hoopd answers with its core
 * OTHER(the same, but NO_EVENT): one that it answers without
 */
#define METHODS(CORE, OTHER)                                                   \
    CORE(METHOD_RENDEZVOUS_JOIN, "hoop.v1.Rendezvous/Join", METHOD_REPEATS,    \
         METHOD_DEFERRABLE, METHOD_LONG_POLL, ROLE_WORKER, join_request,       \
         join_reply, "become a member; answered when the world has formed",    \
         CLUSTER_JOIN)                                                         \
    CORE(METHOD_RENDEZVOUS_LEAVE, "hoop.v1.Rendezvous/Leave", METHOD_CHANGES,  \
         METHOD_NEEDED, METHOD_AT_ONCE, ROLE_WORKER, leave_request,            \
         empty_body, "leave the job in good order", CLUSTER_LEAVE)             \
    CORE(METHOD_RENDEZVOUS_RENEW, "hoop.v1.Rendezvous/Renew", METHOD_REPEATS,  \
         METHOD_NEEDED, METHOD_AT_ONCE, ROLE_WORKER, renew_request,            \
         lease_reply,                                                          \
         "renew the lease, and say whom the caller hears when all are asked",  \
         CLUSTER_RENEW)                                                        \
    CORE(METHOD_RENDEZVOUS_REPORT, "hoop.v1.Rendezvous/Report",                \
         METHOD_REPEATS, METHOD_NEEDED, METHOD_AT_ONCE, ROLE_WORKER,           \
         report_request, lease_reply,                                          \
         "report another member as lost, or the caller itself if it cannot "   \
         "go on; or complain that a member is not heard",                      \
         CLUSTER_REPORT)                                                       \
    CORE(METHOD_RENDEZVOUS_RECORDING, "hoop.v1.Rendezvous/Recording",          \
         METHOD_REPEATS, METHOD_NEEDED, METHOD_AT_ONCE, ROLE_WORKER,           \
         recording_answer, empty_body,                                         \
         "pass on what a rank has recorded, when the caller is asked",         \
         CLUSTER_PASS_RECORDING)                                               \
    CORE(METHOD_RENDEZVOUS_WATCH, "hoop.v1.Rendezvous/Watch", METHOD_READS,    \
         METHOD_NEEDED, METHOD_LONG_POLL, ROLE_OPERATOR, watch_request,        \
         watch_reply, "changes of the membership after a revision",            \
         CLUSTER_WATCH)                                                        \
    CORE(METHOD_RENDEZVOUS_MEMBERS, "hoop.v1.Rendezvous/Members",              \
         METHOD_READS, METHOD_NEEDED, METHOD_LONG_POLL, ROLE_OPERATOR,         \
         job_request, job_reply, "the members of the job", CLUSTER_JOB)        \
    CORE(METHOD_STORE_SET, "hoop.v1.Store/Set", METHOD_CHANGES,                \
         METHOD_DEFERRABLE, METHOD_AT_ONCE, ROLE_WORKER, store_set_request,    \
         store_reply, "write a value", CLUSTER_STORE_SET)                      \
    CORE(METHOD_STORE_GET, "hoop.v1.Store/Get", METHOD_READS, METHOD_NEEDED,   \
         METHOD_AT_ONCE, ROLE_WORKER, store_keys_request, store_reply,         \
         "read a value", CLUSTER_STORE_GET)                                    \
    CORE(METHOD_STORE_WAIT, "hoop.v1.Store/Wait", METHOD_READS, METHOD_NEEDED, \
         METHOD_LONG_POLL, ROLE_WORKER, store_keys_request, store_reply,       \
         "read values as soon as all their keys exist", CLUSTER_STORE_WAIT)    \
    CORE(METHOD_STORE_ADD, "hoop.v1.Store/Add", METHOD_CHANGES,                \
         METHOD_DEFERRABLE, METHOD_AT_ONCE, ROLE_WORKER, store_add_request,    \
         store_reply, "add to a counter", CLUSTER_STORE_ADD)                   \
    CORE(METHOD_STORE_COMPARE_SET, "hoop.v1.Store/CompareSet", METHOD_CHANGES, \
         METHOD_DEFERRABLE, METHOD_AT_ONCE, ROLE_WORKER, store_swap_request,   \
         store_reply, "write a value if the present one is as expected",       \
         CLUSTER_STORE_SWAP)                                                   \
    CORE(METHOD_STORE_DELETE, "hoop.v1.Store/Delete", METHOD_CHANGES,          \
         METHOD_DEFERRABLE, METHOD_AT_ONCE, ROLE_WORKER, store_keys_request,   \
         store_reply, "delete keys", CLUSTER_STORE_DELETE)                     \
    CORE(METHOD_STORE_MULTI_GET, "hoop.v1.Store/MultiGet", METHOD_READS,       \
         METHOD_NEEDED, METHOD_AT_ONCE, ROLE_WORKER, store_keys_request,       \
         store_reply, "read several values at one moment", CLUSTER_STORE_GET)  \
    CORE(METHOD_STORE_LIST, "hoop.v1.Store/List", METHOD_READS, METHOD_NEEDED, \
         METHOD_AT_ONCE, ROLE_WORKER, store_list_request, store_reply,         \
         "a page of the keys with a prefix", CLUSTER_STORE_LIST)               \
    CORE(METHOD_STORE_WATCH, "hoop.v1.Store/Watch", METHOD_READS,              \
         METHOD_NEEDED, METHOD_LONG_POLL, ROLE_WORKER, store_watch_request,    \
         store_watch_reply, "changes of keys with a prefix after a revision",  \
         CLUSTER_STORE_WATCH)                                                  \
    CORE(METHOD_GROUPS_CREATE, "hoop.v1.Groups/Create", METHOD_REPEATS,        \
         METHOD_DEFERRABLE, METHOD_AT_ONCE, ROLE_WORKER, group_create_request, \
         groups_reply, "name an ordered set of ranks", CLUSTER_GROUP_CREATE)   \
    CORE(METHOD_GROUPS_GET, "hoop.v1.Groups/Get", METHOD_READS, METHOD_NEEDED, \
         METHOD_AT_ONCE, ROLE_OPERATOR, group_key_request, groups_reply,       \
         "the ranks of a group", CLUSTER_GROUP_GET)                            \
    CORE(METHOD_GROUPS_LIST, "hoop.v1.Groups/List", METHOD_READS,              \
         METHOD_NEEDED, METHOD_AT_ONCE, ROLE_OPERATOR, group_key_request,      \
         groups_reply, "the groups of the job", CLUSTER_GROUP_LIST)            \
    CORE(METHOD_GROUPS_JOIN, "hoop.v1.Groups/Join", METHOD_REPEATS,            \
         METHOD_DEFERRABLE, METHOD_LONG_POLL, ROLE_WORKER, group_join_request, \
         group_join_reply,                                                     \
         "form a communicator; answered when all have joined",                 \
         CLUSTER_GROUP_JOIN)                                                   \
    CORE(METHOD_GROUPS_LEAVE, "hoop.v1.Groups/Leave", METHOD_REPEATS,          \
         METHOD_NEEDED, METHOD_AT_ONCE, ROLE_WORKER, group_leave_request,      \
         empty_body, "leave communicators that were joined",                   \
         CLUSTER_GROUP_LEAVE)                                                  \
    CORE(METHOD_GROUPS_AGREE, "hoop.v1.Groups/Agree", METHOD_REPEATS,          \
         METHOD_NEEDED, METHOD_LONG_POLL, ROLE_WORKER, group_agree_request,    \
         group_agree_reply, "what the survivors of a communicator agree on",   \
         CLUSTER_VOTE)                                                         \
    CORE(METHOD_GROUPS_AWAITED, "hoop.v1.Groups/Awaited", METHOD_READS,        \
         METHOD_NEEDED, METHOD_AT_ONCE, ROLE_WORKER, group_awaited_request,    \
         group_awaited_reply,                                                  \
         "for whom a join or an agreement of the member waits",                \
         CLUSTER_QUERY_MISSING)                                                \
    OTHER(METHOD_HEALTH_CHECK, "hoop.v1.Health/Check", METHOD_READS,           \
          METHOD_NEEDED, METHOD_AT_ONCE, ROLE_ANYBODY, health_request,         \
          health_reply, "SERVING or NOT_SERVING", NO_EVENT)                    \
    CORE(METHOD_STATUS_JOBS, "hoop.v1.Status/Jobs", METHOD_READS,              \
         METHOD_NEEDED, METHOD_AT_ONCE, ROLE_METRICS, empty_body, jobs_reply,  \
         "all jobs of the coordinator", CLUSTER_JOBS)                          \
    CORE(METHOD_STATUS_JOB, "hoop.v1.Status/Job", METHOD_READS, METHOD_NEEDED, \
         METHOD_LONG_POLL, ROLE_OPERATOR, job_request, job_reply,              \
         "one job: its members, epoch and store, at once; which calls its "    \
         "ranks are in, within a second",                                      \
         CLUSTER_JOB)                                                          \
    CORE(METHOD_STATUS_WHY, "hoop.v1.Status/Why", METHOD_READS, METHOD_NEEDED, \
         METHOD_LONG_POLL, ROLE_OPERATOR, empty_body, why_reply,               \
         "what holds a job up: a sentence, and all that its ranks say of it",  \
         CLUSTER_WHY)                                                          \
    CORE(METHOD_STATUS_RECORDING, "hoop.v1.Status/Recording", METHOD_READS,    \
         METHOD_NEEDED, METHOD_LONG_POLL, ROLE_OPERATOR, recording_request,    \
         recording_reply,                                                      \
         "what a rank called last, which another one of its host can pass on", \
         CLUSTER_ASK_RECORDING)                                                \
    OTHER(METHOD_AUTH_CHALLENGE, "hoop.v1.Auth/Challenge", METHOD_REPEATS,     \
          METHOD_NEEDED, METHOD_AT_ONCE, ROLE_ANYBODY, auth_challenge_request, \
          auth_challenge_reply,                                                \
          "begin to prove a token; answered with the coordinator's proof",     \
          NO_EVENT)                                                            \
    OTHER(METHOD_AUTH_PROVE, "hoop.v1.Auth/Prove", METHOD_REPEATS,             \
          METHOD_NEEDED, METHOD_AT_ONCE, ROLE_ANYBODY, auth_prove_request,     \
          empty_body, "prove the token, for all requests of the connection",   \
          NO_EVENT)

#define METHOD_NUMBER(number, ...) number,
enum method_id {
    METHODS(METHOD_NUMBER, METHOD_NUMBER) METHOD_COUNT
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

/* Whether a request is refused while hoopd cannot write its data. */
enum method_need {
    METHOD_NEEDED,     /* no: a member needs it in order to continue or to
                          leave, or it stores nothing */
    METHOD_DEFERRABLE, /* yes: it adds to the data, and can be asked again
                          later */
};

enum method_answer {
    METHOD_AT_ONCE,
    METHOD_LONG_POLL, /* may be parked until the request's deadline */
};

struct method {
    enum method_id id;
    const char *name; /* "hoop.v1.<Service>/<Method>" */
    enum method_effect effect;
    enum method_need need;
    enum method_answer answer;
    enum role role; /* the least privileged role that may call it */
    message_descriptor_fn *request; /* of the bodies */
    message_descriptor_fn *reply;
    const char *description; /* one line */
};

/* Find a method by its name of n_name bytes, which need no final 0. NULL: there
 * is no such method. */
const struct method *
method_find(const char *name, size_t n_name);

/* Return the method's row; never NULL. */
const struct method *
method_by_id(enum method_id id);

#endif
