/*
 * core/store.h - the keys and values of a job
 *
 * Each change has a revision, one higher than that of the change before. Keys
 * are text of 1 to LIMIT_STORE_KEY - 1 bytes; values are any bytes. Replies
 * point at values, so a step does not change a value after it has handed it
 * out.
 */

#ifndef CORE_STORE_H
#define CORE_STORE_H

#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "hoop/status.h"

#include "core/action.h"
#include "core/change.h"
#include "core/event.h"
#include "core/member.h"

struct cluster;
struct job;
struct memory_account;

struct store_entry {
    struct job *job;
    void *value; /* owned */
    size_t n_bytes;
    uint64_t revision;
    uint64_t number; /* its first revision; identifies the key, since no
                        other key has it */
    struct timer_entry expiry;
    UT_hash_handle hh;
    char key[];
};

struct store {
    struct store_entry *entries; /* hash by key */
    size_t n_keys;
    size_t n_bytes; /* bytes of keys and values */
    struct history history;
    uint64_t published; /* the last revision that parked watches have been
                           compared with */
};

struct store_value {
    const void *bytes;
    size_t n_bytes;
    uint64_t end_ns; /* when the key expires; UINT64_MAX: never */
};

void
store_deinit(struct store *store);

/* The job ends: remove its keys from the timer heap and the counters. The
 * memory is freed by store_deinit(). */
void
store_remove_timers(struct cluster *cluster, struct job *job);

/* Check a key. Handle: HOOP_E_INVALID (missing, empty or too long). */
enum hoop_status
store_key_check(const char *key);

/* Return the entry of key, or NULL. */
struct store_entry *
store_find(const struct store *store, const char *key);

/* Set a key that has been checked. Handle: HOOP_E_EXHAUSTED (nothing has
 * changed). */
enum hoop_status
store_put(struct cluster *cluster,
          struct job *job,
          const char *key,
          const struct store_value *value,
          struct store_entry **out_entry);

/* An entry that is read from its record. */
struct store_recovered_entry {
    struct store_value value;
    uint64_t number;
    uint64_t revision;
};

/* Restore an entry. The store's last revision must be restored already. Handle:
 * HOOP_E_DATA_LOSS and others (the entry does not fit the store). */
enum hoop_status
store_recover_entry(struct cluster *cluster,
                    struct job *job,
                    const char *key,
                    const struct store_recovered_entry *former);

/* Remove and free entry. kind says why, for the history. */
void
store_remove(struct cluster *cluster,
             struct store_entry *entry,
             enum cluster_key_change_kind kind);

/* The key's lifetime is over: remove it. */
void
store_on_key_expired(struct cluster *cluster, struct store_entry *entry);

/* Return the entry for a reply; points into entry. */
struct cluster_store_entry
store_entry_view(const struct store_entry *entry);

#endif
