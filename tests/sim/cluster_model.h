/*
 * tests/sim/cluster_model.h - a simple model of what a coordinator must do
 *
 * The model follows the actions of the real coordinator and keeps its own
 * records, without timers or hash tables. It ends the run at the first
 * contradiction.
 */

#ifndef SIM_CLUSTER_MODEL_H
#define SIM_CLUSTER_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cluster.h"

enum {
    MODEL_JOBS = 3,
    MODEL_CLIENTS = 20,
    MODEL_KEYS = 6,
    MODEL_TICKETS = 1024,
    MODEL_CHANGES = 4096,
    MODEL_ENTRIES = 64, /* groups that one client joins in its life */
    MODEL_GROUPS = 512,
};

enum client_state {
    CLIENT_IDLE,
    CLIENT_JOINING,
    CLIENT_ACTIVE,
    CLIENT_GONE, /* it has left or is lost */
};

struct model_list {
    uint32_t n_ranks;
    uint32_t ranks[MODEL_CLIENTS];
};

/* A member joins a group with this call. */
struct model_entry {
    struct model_list list;
    enum {
        ENTRY_ENTERED,
        ENTRY_IN,
        ENTRY_OUT,
    } state;
    uint64_t communicator; /* set in the state ENTRY_IN */
};

/* This group has formed. It is kept, so that its ID cannot be used again. */
struct model_group {
    uint64_t epoch;
    uint64_t communicator;
    struct model_list list;
    uint32_t n_in; /* members that have not left */
};

struct model_client {
    enum client_state state;
    bool is_dead; /* it no longer renews its lease */
    unsigned int job;
    uint64_t incarnation;
    uint32_t requested;
    uint32_t least_accepted_rank; /* or any higher one; 0: none */
    unsigned int host;
    uint64_t epoch;
    uint32_t rank;
    uint64_t acknowledged_ns; /* when its lease was last acknowledged */
    uint64_t seen;            /* its last membership revision */
    uint64_t query;           /* its last query of activities */
    bool is_accused;          /* a report accuses it */
    uint64_t n_entries;
    struct model_entry entries[MODEL_ENTRIES]; /* by number - 1 */
};

struct model_key {
    bool exists;
    char value[24];
    uint64_t end_ns; /* UINT64_MAX: never */
    uint64_t revision;
};

struct model_job {
    uint64_t epoch; /* 0: none has formed */
    uint32_t size;
    unsigned int n_changes; /* of the membership */
    struct {
        enum cluster_membership_change_kind kind;
        uint32_t rank;
    } changes[1 + MODEL_CLIENTS];
    struct model_key keys[MODEL_KEYS];
    uint64_t revision;
    struct {
        enum cluster_key_change_kind kind;
        unsigned int key;
    } key_changes[MODEL_CHANGES]; /* by revision */
};

/* This request has not been answered. */
struct model_ticket {
    bool is_open;
    struct cluster_event event;
    unsigned int job;
    int client;           /* index of the client, or -1 */
    unsigned int keys[2]; /* keys of the store */
    const char *key_texts[2];
    char value[24];
    char expected[24];
    struct model_list list; /* for GROUP_JOIN */
    uint64_t number;        /* for GROUP_LEAVE */
};

struct model {
    uint64_t seed;
    uint64_t n_steps;
    uint64_t now_ns;
    uint64_t lease_ns;
    bool may_be_late;
    bool is_drained;
    uint64_t epoch_last;
    struct model_job jobs[MODEL_JOBS];
    struct model_client clients[MODEL_CLIENTS];
    struct model_ticket tickets[MODEL_TICKETS]; /* by ticket modulo the size */
    struct model_group groups[MODEL_GROUPS];
    unsigned int n_groups;
    uint64_t n_worlds;
    uint64_t n_formed; /* of groups */
    uint64_t n_lost;
    uint64_t n_store;
    uint64_t n_seen; /* changes that watches have seen */
    uint64_t n_told; /* activities that clients have sent */
};

extern const char *const model_job_names[MODEL_JOBS];
extern const char *const model_keys[MODEL_KEYS];

/* Unless the condition holds, prints the seed and ends the program. */
void
model_expect(const struct model *model, int holds, const char *what);

/* Returns whether the job has a waiting client or a member. */
bool
model_job_exists(const struct model *model, unsigned int job);

/* Removes the keys whose time is over. Call it before a step. */
void
model_expire(struct model *model);

/* Compare what the real coordinator says, in its order. */
void
model_notice(struct model *model, const struct cluster_log_notice *notice);
void
model_reply(struct model *model, const struct cluster_reply *reply);

/* Checks after a step that nothing is overdue or forgotten. */
void
model_check(const struct model *model, const struct cluster_counters *counters);

/* These functions are the store's part, for cluster_model.c. */
void
model_store_reply(struct model *model,
                  const struct model_ticket *ticket,
                  const struct cluster_reply *reply);
bool
model_wait_is_over(const struct model *model,
                   const struct model_ticket *ticket);

/* These functions are the groups' part. */

/* The client joins the list without waiting. Returns the number of the call. */
uint64_t
model_group_enter(struct model_client *client, const struct model_list *list);
/* Returns the entry with this number, or NULL. */
struct model_entry *
model_entry_find(struct model_client *client, uint64_t number);
/* The client has ended, so it leaves all groups. */
void
model_groups_leave(struct model *model, struct model_client *client);
void
model_group_reply(struct model *model,
                  const struct model_ticket *ticket,
                  const struct cluster_reply *reply);
/* Returns whether all members wait, so that they should have been answered. */
bool
model_group_is_over(const struct model *model,
                    const struct model_ticket *ticket);

#endif
