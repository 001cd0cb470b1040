/* session/comm.h - a communicator: a context of the engine, with its defaults */

#ifndef SESSION_COMM_H
#define SESSION_COMM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/comm.h"

#include "base/cleanup.h"
#include "engine/engine.h"
#include "session/group_client.h"
#include "transport/roster.h"
#include "tune/shm_region_forming.h"
#include "tune/tuning.h"

/* On the wire, 0 stands for no communicator (a failure notice on a rank): the ids
 * that the coordinator gives out, of which 0 is the world's, begin here. */
enum {
    COMM_ID_FIRST = 1
};

enum {
    COMM_NAME_BYTES_MAX = 63
};

TAILQ_HEAD(comm_list, hoop_comm);

/* What a collective does when a rank is lost: coll/retry.h. All have the same;
 * in the order of the setting's choices. */
enum comm_failure_policy {
    COMM_POLICY_FAIL,
    COMM_POLICY_RETRY,
};

/* What a session's communicators have in common. Zeroed: nothing is there. */
struct comm_domain {
    const struct roster *roster; /* borrowed for life, as the two below */
    struct engine *engine;
    struct tuner *tuner;
    struct group_client *group_client;
    struct shm_region_modes modes;
    uint32_t timeout_ms; /* what 0 means to hoop_comm_set_timeout() */
    /* Of forming others: that of the world's communicator. */
    _Atomic uint32_t forming_timeout_ms;
    enum comm_failure_policy on_failure;
    pthread_mutex_t lock;
    struct comm_list comms;       /* all but the world's, under the lock */
    struct hoop_session *session; /* borrowed; NULL: a test's */
    /* Those whose members and newcomers have met since, under the lock. */
    LIST_HEAD(, comm_domain) grown;
    struct comm_domain *grown_from; /* NULL: the user has joined it */
    LIST_ENTRY(comm_domain) grown_link;
    /* The world of a grown one has been freed: it ends with the last that was
     * made of it. Under the lock. */
    bool is_freed;
};

/* What was called last by somebody who waited: checked, and as the engine got
 * it. The same again needs neither. Zeroed: nothing. The caller's, of whom there
 * is one at a time: coll/collective.c. */
struct comm_cached_request {
    struct engine_collective request;
    size_t n_input; /* elements */
    size_t n_output;
};

/* What survivors of a communicator have agreed on. Zeroed: nothing. The
 * caller's, as a collective. */
struct comm_agreement {
    uint64_t turns[GROUP_GROW + 1]; /* by kind: how many have been taken */
    uint32_t *failed;               /* ranks of the communicator; owned */
    uint32_t n_failed;
    uint64_t unfinished; /* of the one that this was made from; 0: none */
    /* Of the call that runs: which faults are about it, and its tries. */
    uint32_t faults;
    uint64_t n_tries;
};

/* Of calls that are done again, by coll/retry.c. Zeroed: there was none. The
 * caller's, as a collective. */
struct comm_retry {
    uint64_t n_calls;         /* that are over */
    enum hoop_status outcome; /* of the last of them */
    uint64_t n_over;          /* for the others, if that is more */
    bool is_next_over;        /* ... and one behind these: without its root */
    uint32_t *contributors;   /* ranks of the world; owned */
    uint32_t n_contributors;
    void *kept; /* room for inputs; owned */
    size_t n_kept;
};

struct hoop_comm {
    TAILQ_ENTRY(hoop_comm) link;
    struct comm_domain *domain;   /* NULL: made without a session, by a test */
    struct comm_context *context; /* NULL: this process is no member */
    struct tuning *tuning;        /* which algorithm; NULL: the first of each */
    struct group_membership
        *group_membership;       /* NULL: the world, a non-member */
    uint32_t session_timeout_ms; /* what 0 means to hoop_comm_set_timeout() */
    struct comm_cached_request cached_request;
    struct comm_agreement agreement;
    struct comm_retry retry;
    bool is_world; /* the session's, not to be freed */
};

/* Ranks of the world, each once. Handle: HOOP_E_INVALID. */
enum hoop_status
comm_list_check(const struct roster *roster, const struct rank_list *list);

/*
 * Form a communicator of list, whose ranks are known and this one's among
 * them. All of them call it.
 */
enum hoop_status
comm_form(struct comm_domain *domain,
          const struct rank_list *list,
          uint64_t deadline_ns,
          struct hoop_comm **out_comm);

/*
 * Open what all of list have joined: group_membership is taken, also on failure.
 * After context_expect(). *out_comm is written in any case, NULL if there is none.
 */
enum hoop_status
comm_open(struct comm_domain *domain,
          const struct rank_list *list,
          struct group_membership *group_membership,
          uint64_t deadline_ns,
          struct hoop_comm **out_comm);

/* One that this process is not a member of. */
enum hoop_status
comm_form_without_us(struct comm_domain *domain, struct hoop_comm **out_comm);

/* comm stands for what survivors have made of it from now on; shrunk, which is
 * taken, and what comm stood for are no more. The caller is a member. */
void
comm_adopt(struct hoop_comm *comm, struct hoop_comm *shrunk);

/* Frees what is left of all of them, when their engine has been left and no
 * other thread uses them. */
void
comms_destroy(struct comm_domain *domain);

#endif
