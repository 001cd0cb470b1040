/*
 * rpc/messages/rendezvous_messages.h - bodies of hoop.v1.Rendezvous
 *
 * Job and token travel in the envelope's metadata, the call's deadline in the
 * envelope itself.
 */

#ifndef RPC_MESSAGES_RENDEZVOUS_MESSAGES_H
#define RPC_MESSAGES_RENDEZVOUS_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "rpc/messages/message.h"

struct pack;

enum {
    RENDEZVOUS_PROTOCOL = 1,          /* what both sides speak */
    RENDEZVOUS_RANK_ANY = UINT32_MAX, /* the coordinator chooses */
};

/* ---- Join: answered when the world has formed, or at its deadline. */
struct join_request {
    uint32_t protocol;    /* RENDEZVOUS_PROTOCOL */
    uint32_t rank;        /* or RENDEZVOUS_RANK_ANY */
    uint32_t world_size;  /* 0: as the coordinator says */
    uint32_t size_min;    /* form with fewer after settle_ms; 0: exactly */
    uint32_t size_max;    /* 0: world_size */
    uint32_t settle_ms;   /* 0: the coordinator's */
    uint32_t deadline_ms; /* from now; names what is missing when it passes */
    uint32_t pid;
    uint64_t incarnation; /* random, the same when the request is repeated */
    char host_id[LIMIT_NAME]; /* equal on two ranks: they share a machine */
    char host_name[LIMIT_NAME];
    char address[LIMIT_ADDRESS]; /* numeric host:port where peers connect */
};

struct roster_member {
    uint32_t rank;
    uint32_t pid;
    uint64_t incarnation;
    char host_id[LIMIT_NAME];
    char host_name[LIMIT_NAME];
    char address[LIMIT_ADDRESS];
};

/* In rank order. Owned by the message it stands in. */
struct roster {
    size_t n_members;
    struct roster_member *members;
};

struct join_reply {
    uint64_t epoch;
    uint64_t revision; /* of the membership: begin to watch here */
    uint64_t world;    /* id of the world communicator */
    uint32_t rank;
    uint32_t size;
    uint32_t lease_ms; /* renew three times as often */
    struct roster roster;
};

/* ---- Renew: I am alive. A member that is unknown must join again. */
struct renew_request {
    uint32_t rank;
    uint64_t incarnation;
};

struct renew_reply {
    uint64_t epoch;
    uint64_t revision; /* larger than mine: something happened, watch */
    uint32_t lease_ms;
};

/* ---- Leave: in good order. The reply has no body. */
struct leave_request {
    uint32_t rank;
    uint64_t incarnation;
};

/* ---- Report: a member says that another one is lost. */
struct report_request {
    uint32_t by_rank;
    uint64_t by_incarnation;
    uint32_t rank; /* the one that is lost */
    uint64_t incarnation;
    char text[LIMIT_ERROR_TEXT]; /* what was seen */
};

struct report_reply {
    uint64_t epoch;
    uint64_t revision;
};

/* ---- Watch: a long poll, answered when the revision passes since. */
struct watch_request {
    uint64_t since;
};

enum watch_kind {
    WATCH_JOINED = 1,
    WATCH_LEFT = 2, /* in good order */
    WATCH_LOST = 3, /* the text is the verdict */
};

struct watch_event {
    uint32_t kind; /* enum watch_kind, or one of a newer coordinator */
    uint64_t revision;
    uint64_t epoch; /* after the event */
    uint32_t rank;
    uint64_t incarnation;
    char text[LIMIT_ERROR_TEXT];
};

struct watch_reply {
    uint64_t epoch;
    uint64_t revision; /* since for the next call */
    size_t n_events;
    struct watch_event *events; /* oldest first */
};

/* ---- Members: the request has no body. */
struct members_reply {
    uint64_t epoch;
    uint64_t revision;
    uint32_t size; /* the world's; 0: not formed, these are who waits */
    struct roster roster;
};

void
join_request_encode(const struct join_request *request, struct pack *pack);
enum hoop_status
join_request_decode(struct message_span in, struct join_request *out_request);

void
join_reply_encode(const struct join_reply *reply, struct pack *pack);
enum hoop_status
join_reply_decode(struct message_span in, struct join_reply *out_reply);
void
join_reply_deinit(struct join_reply *reply);

void
renew_request_encode(const struct renew_request *request, struct pack *pack);
enum hoop_status
renew_request_decode(struct message_span in, struct renew_request *out_request);

void
renew_reply_encode(const struct renew_reply *reply, struct pack *pack);
enum hoop_status
renew_reply_decode(struct message_span in, struct renew_reply *out_reply);

void
leave_request_encode(const struct leave_request *request, struct pack *pack);
enum hoop_status
leave_request_decode(struct message_span in, struct leave_request *out_request);

void
report_request_encode(const struct report_request *request, struct pack *pack);
enum hoop_status
report_request_decode(struct message_span in,
                      struct report_request *out_request);

void
report_reply_encode(const struct report_reply *reply, struct pack *pack);
enum hoop_status
report_reply_decode(struct message_span in, struct report_reply *out_reply);

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

void
members_reply_encode(const struct members_reply *reply, struct pack *pack);
enum hoop_status
members_reply_decode(struct message_span in, struct members_reply *out_reply);
void
members_reply_deinit(struct members_reply *reply);

#endif
