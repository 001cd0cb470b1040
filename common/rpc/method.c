/* rpc/method.c - the table of all RPC methods */

#include "rpc/method.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"

static const struct method methods[] = {
    {METHOD_RENDEZVOUS_JOIN, "hoop.v1.Rendezvous/Join", METHOD_REPEATS,
     METHOD_LONG_POLL, ROLE_WORKER,
     "become a member; answered when the world has formed"},
    {METHOD_RENDEZVOUS_LEAVE, "hoop.v1.Rendezvous/Leave", METHOD_CHANGES,
     METHOD_AT_ONCE, ROLE_WORKER, "leave the job in good order"},
    {METHOD_RENDEZVOUS_RENEW, "hoop.v1.Rendezvous/Renew", METHOD_REPEATS,
     METHOD_AT_ONCE, ROLE_WORKER,
     "renew the lease, and say whom one hears when all are asked"},
    {METHOD_RENDEZVOUS_REPORT, "hoop.v1.Rendezvous/Report", METHOD_REPEATS,
     METHOD_AT_ONCE, ROLE_WORKER,
     "report a member as lost, another or, where it cannot go on, itself; or "
     "complain that one is not heard"},
    {METHOD_RENDEZVOUS_WATCH, "hoop.v1.Rendezvous/Watch", METHOD_READS,
     METHOD_LONG_POLL, ROLE_OPERATOR,
     "changes of the membership after a revision"},
    {METHOD_RENDEZVOUS_MEMBERS, "hoop.v1.Rendezvous/Members", METHOD_READS,
     METHOD_LONG_POLL, ROLE_OPERATOR, "the members of the job"},

    {METHOD_STORE_SET, "hoop.v1.Store/Set", METHOD_CHANGES, METHOD_AT_ONCE,
     ROLE_WORKER, "write a value"},
    {METHOD_STORE_GET, "hoop.v1.Store/Get", METHOD_READS, METHOD_AT_ONCE,
     ROLE_WORKER, "read a value"},
    {METHOD_STORE_WAIT, "hoop.v1.Store/Wait", METHOD_READS, METHOD_LONG_POLL,
     ROLE_WORKER, "read values as soon as all their keys exist"},
    {METHOD_STORE_ADD, "hoop.v1.Store/Add", METHOD_CHANGES, METHOD_AT_ONCE,
     ROLE_WORKER, "add to a counter"},
    {METHOD_STORE_COMPARE_SET, "hoop.v1.Store/CompareSet", METHOD_CHANGES,
     METHOD_AT_ONCE, ROLE_WORKER,
     "write a value if the present one is as expected"},
    {METHOD_STORE_DELETE, "hoop.v1.Store/Delete", METHOD_CHANGES,
     METHOD_AT_ONCE, ROLE_WORKER, "delete keys"},
    {METHOD_STORE_MULTI_GET, "hoop.v1.Store/MultiGet", METHOD_READS,
     METHOD_AT_ONCE, ROLE_WORKER, "read several values at one moment"},
    {METHOD_STORE_LIST, "hoop.v1.Store/List", METHOD_READS, METHOD_AT_ONCE,
     ROLE_WORKER, "a page of the keys with a prefix"},
    {METHOD_STORE_WATCH, "hoop.v1.Store/Watch", METHOD_READS, METHOD_LONG_POLL,
     ROLE_WORKER, "changes of keys with a prefix after a revision"},

    {METHOD_GROUPS_CREATE, "hoop.v1.Groups/Create", METHOD_REPEATS,
     METHOD_AT_ONCE, ROLE_WORKER, "name an ordered set of ranks"},
    {METHOD_GROUPS_GET, "hoop.v1.Groups/Get", METHOD_READS, METHOD_AT_ONCE,
     ROLE_OPERATOR, "the ranks of a group"},
    {METHOD_GROUPS_LIST, "hoop.v1.Groups/List", METHOD_READS, METHOD_AT_ONCE,
     ROLE_OPERATOR, "the groups of the job"},
    {METHOD_GROUPS_JOIN, "hoop.v1.Groups/Join", METHOD_REPEATS,
     METHOD_LONG_POLL, ROLE_WORKER,
     "form a communicator; answered when all have joined"},
    {METHOD_GROUPS_LEAVE, "hoop.v1.Groups/Leave", METHOD_REPEATS,
     METHOD_AT_ONCE, ROLE_WORKER, "leave communicators that were joined"},
    {METHOD_GROUPS_AGREE, "hoop.v1.Groups/Agree", METHOD_REPEATS,
     METHOD_LONG_POLL, ROLE_WORKER,
     "what the survivors of a communicator agree on"},
    {METHOD_GROUPS_AWAITED, "hoop.v1.Groups/Awaited", METHOD_READS,
     METHOD_AT_ONCE, ROLE_WORKER,
     "whom a join or an agreement of the member waits for"},

    {METHOD_HEALTH_CHECK, "hoop.v1.Health/Check", METHOD_READS, METHOD_AT_ONCE,
     ROLE_ANYBODY, "SERVING or NOT_SERVING"},

    {METHOD_STATUS_JOBS, "hoop.v1.Status/Jobs", METHOD_READS, METHOD_AT_ONCE,
     ROLE_METRICS, "all jobs of the coordinator"},
    {METHOD_STATUS_JOB, "hoop.v1.Status/Job", METHOD_READS, METHOD_LONG_POLL,
     ROLE_OPERATOR,
     "one job: its members, epoch and store, at once; what its ranks are in, "
     "within a second"},

    {METHOD_AUTH_CHALLENGE, "hoop.v1.Auth/Challenge", METHOD_REPEATS,
     METHOD_AT_ONCE, ROLE_ANYBODY,
     "begin to prove a token; answered with the coordinator's proof"},
    {METHOD_AUTH_PROVE, "hoop.v1.Auth/Prove", METHOD_REPEATS, METHOD_AT_ONCE,
     ROLE_ANYBODY, "prove the token, for all requests of the connection"},
};

const struct method *
method_find(const char *name, size_t n_name)
{
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        if (strlen(methods[i].name) == n_name &&
            memcmp(methods[i].name, name, n_name) == 0)
            return &methods[i];
    }
    return NULL;
}

const struct method *
method_by_id(enum method_id id)
{
    assert((size_t)id < COUNT_OF(methods));
    assert(methods[id].id == id);
    return &methods[id];
}

size_t
method_count(void)
{
    return COUNT_OF(methods);
}

const struct method *
method_by_index(size_t index)
{
    return index < COUNT_OF(methods) ? &methods[index] : NULL;
}
