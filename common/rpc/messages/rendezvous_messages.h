/*
 * rpc/messages/rendezvous_messages.h - bodies of hoop.v1.Rendezvous
 *
 * Job and token travel in the envelope's metadata. Members answers a
 * job_reply (rpc/messages/status_messages.h) and its request has no body.
 */

#ifndef RPC_MESSAGES_RENDEZVOUS_MESSAGES_H
#define RPC_MESSAGES_RENDEZVOUS_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "rpc/messages/message.h"
#include "rpc/messages/status_messages.h"

struct pack;

enum {
    RENDEZVOUS_PROTOCOL = 1, /* what both sides speak */
};

/* As a requested rank: the coordinator chooses. */
static const uint32_t RENDEZVOUS_RANK_ANY = UINT32_MAX;

/* Join: answered when the world has formed, at deadline_ms at the latest. */
struct join_request {
    uint64_t incarnation; /* random, not 0; the same when it is repeated */
    uint32_t protocol;    /* RENDEZVOUS_PROTOCOL */
    uint32_t rank;        /* or RENDEZVOUS_RANK_ANY */
    uint32_t world_size;  /* the largest world; 0: as the coordinator says */
    uint32_t size_min;    /* form with this many after settle_ms; 0: not said */
    uint32_t settle_ms;   /* 0: the coordinator's */
    uint32_t deadline_ms; /* from its arrival, before the call's own deadline:
                             the answer then names what is missing */
    uint32_t pid;
    char host[LIMIT_NAME];       /* name, for people */
    char host_id[LIMIT_NAME];    /* equal on one machine; "": the name */
    char address[LIMIT_ADDRESS]; /* numeric host:port where peers connect */
    uint32_t rank_min;           /* where the world is too small for rank, one
                                    from here on will do; 0: none will */
    uint64_t process_space;      /* where pid is its number; 0: not known */
    /* Of the world that holds the job's places, whose processes the worker sees
     * to have ended: */
    uint64_t ended_epoch;      /* its epoch; 0: none has been looked at */
    struct message_span ended; /* [rank]: not 0, this one has; decoded: points
                                  into what was read */
    char root[LIMIT_NAME]; /* the job that grows by this world; "": none does */
    uint64_t membership;   /* an incarnation that the caller has in a world of
                              root; 0: none */
    uint32_t rank_use;     /* enum join_rank_use */
};

/* What rank is to a worker that comes to a job that has formed. */
enum join_rank_use {
    JOIN_RANK_DEMANDED, /* the join is refused where another has it */
    JOIN_RANK_PREFERRED /* any other will do */
};

struct roster_member {
    uint32_t rank;
    uint32_t pid;
    uint64_t incarnation; /* its identity: base/identity.h */
    char host[LIMIT_NAME];
    char host_id[LIMIT_NAME];
    char address[LIMIT_ADDRESS];
    uint64_t process_space; /* as in its join */
};

struct join_reply {
    uint64_t epoch;    /* of the world */
    uint64_t revision; /* of the membership: watch from here */
    uint64_t world;    /* id of the world communicator */
    uint64_t seed;     /* random, the same on every rank */
    uint32_t rank;
    uint32_t size;
    uint32_t lease_ms;            /* renew about three times in this */
    size_t n_members;             /* size */
    struct roster_member *roster; /* by rank */
    char job[LIMIT_NAME]; /* what all further requests name; "": as the join */
    /* To encode: join_roster_encode() has packed the roster; decoded: empty. */
    struct message_span packed_roster;
};

/* Leave: a member speaks for itself. The reply of Leave is empty. */
struct member_request {
    uint64_t epoch; /* the world's, as told by the join's reply */
    uint64_t incarnation;
};

/* Renew: and, if all were asked, whom it hears. */
struct renew_request {
    struct member_request member;
    uint64_t question;         /* of a watch_reply; 0: none is answered */
    struct message_span views; /* [rank]: enum evidence_view; none: they follow;
                                  decoded: points
                                  into what was read */
    uint64_t activity_query;   /* of a watch_reply; 0: none is answered */
    struct rank_activity activity; /* then */
};

/* Answers Renew and Report. */
struct lease_reply {
    uint64_t membership_epoch;
    uint64_t revision; /* larger than the last one seen: watch */
    uint32_t lease_ms;
};

/* Report: one member says that another is lost, or only that it does not hear
 * it. The first verdict stays. */
struct report_request {
    struct member_request reporter;
    uint32_t rank;             /* the accused ... */
    uint64_t incarnation;      /* ... and its identity, as in the roster */
    char reason[LIMIT_REASON]; /* what was seen: "connection reset" */
    uint32_t evidence;         /* enum evidence */
    uint32_t slack_ms;         /* what its network adds to the time that others
                                  have to answer */
};

/* Watch: a long poll, answered when there are changes after since. */
struct watch_request {
    uint64_t epoch;          /* the world's; 0: of whatever world there is */
    uint64_t since;          /* revision of the last change seen; 0: none */
    uint64_t question;       /* the last that was seen, 0: none; or
                          WATCH_NO_QUESTION */
    uint64_t activity_query; /* likewise */
};

/* As a question or query seen: whoever watches answers none. */
static const uint64_t WATCH_NO_QUESTION = UINT64_MAX;

enum watch_kind {
    WATCH_FORMED = 1, /* the world; rank is its size */
    WATCH_LEFT = 2,   /* in good order */
    WATCH_LOST = 3,   /* a verdict: who, what, when, the same to everybody */
};

struct watch_event {
    uint32_t kind; /* enum watch_kind, or one of a newer coordinator */
    uint32_t rank;
    uint64_t revision;
    uint64_t membership_epoch; /* after it */
    uint64_t incarnation;      /* identity */
    uint64_t age_ms;           /* when it was answered */
    uint32_t pid;
    char host[LIMIT_NAME];
    char reason[LIMIT_ERROR_TEXT];
    uint32_t evidence; /* enum evidence: lost by its own word, or 0 */
};

/* Without events at the deadline of the call: ask again. */
struct watch_reply {
    uint64_t epoch;
    uint64_t revision; /* since of the next call */
    size_t n_events;
    struct watch_event *events; /* oldest first */
    uint64_t question; /* whom does each rank hear? Renew answers; 0: nobody is
                          asked now */
    uint64_t activity_query; /* what is each rank in? likewise */
};

void
join_request_encode(const struct join_request *request, struct pack *pack);
/* The part of a join_reply that is the same for all members. */
void
join_roster_encode(const struct roster_member *roster,
                   size_t n_members,
                   struct pack *pack);
enum hoop_status
join_request_decode(struct message_span in, struct join_request *out_request);

void
join_reply_encode(const struct join_reply *reply, struct pack *pack);
enum hoop_status
join_reply_decode(struct message_span in, struct join_reply *out_reply);
void
join_reply_deinit(struct join_reply *reply);

static inline void
join_reply_deinit_at(struct join_reply *at)
{
    join_reply_deinit(at);
}

void
member_request_encode(const struct member_request *request, struct pack *pack);
enum hoop_status
member_request_decode(struct message_span in,
                      struct member_request *out_request);

void
renew_request_encode(const struct renew_request *request, struct pack *pack);
enum hoop_status
renew_request_decode(struct message_span in, struct renew_request *out_request);

void
lease_reply_encode(const struct lease_reply *reply, struct pack *pack);
enum hoop_status
lease_reply_decode(struct message_span in, struct lease_reply *out_reply);

void
report_request_encode(const struct report_request *request, struct pack *pack);
enum hoop_status
report_request_decode(struct message_span in,
                      struct report_request *out_request);

void
watch_request_encode(const struct watch_request *request, struct pack *pack);
enum hoop_status
watch_request_decode(struct message_span in, struct watch_request *out_request);

void
watch_reply_encode(const struct watch_reply *reply, struct pack *pack);
enum hoop_status
watch_reply_decode(struct message_span in, struct watch_reply *out_reply);
void
watch_reply_deinit(struct watch_reply *reply);

static inline void
watch_reply_deinit_at(struct watch_reply *at)
{
    watch_reply_deinit(at);
}

#endif
