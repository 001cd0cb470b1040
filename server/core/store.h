/*
 * core/store.h - the keys and values of a job
 *
 * Every change has a revision, one more than that of the change before. Keys
 * are text of 1 to LIMIT_STORE_KEY - 1 bytes, values any bytes. Replies point
 * at values; what a step hands out it does not change any more.
 */

#ifndef CORE_STORE_H
#define CORE_STORE_H

#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "hoop/status.h"

#include "core/action.h"
#include "core/event.h"
#include "core/history.h"
#include "core/timer_heap.h"

struct cluster;
struct job;
struct memory_account;

struct store_entry {
    struct job *job;
    void *value; /* owned */
    size_t n_bytes;
    uint64_t revision;
    uint64_t number; /* its first revision, which no other key has */
    struct timer_entry expiry;
    UT_hash_handle hh;
    char key[];
};

struct store {
    struct store_entry *entries; /* hash by key */
    size_t n_keys;
    size_t n_bytes; /* keys and values */
    struct history history;
    uint64_t published; /* revision up to which parked watches have looked */
};

struct store_value {
    const void *bytes;
    size_t n_bytes;
    uint64_t end_ns; /* when it goes away; UINT64_MAX: never */
};

/* memory: to what its history is charged; it must outlive the store. */
void
store_init(struct store *store, struct memory_account *memory);
void
store_deinit(struct store *store);

/* Of a job that ends: off the timer heap and the gauges; the memory stays. */
void
store_close(struct cluster *cluster, struct job *job);

/* Handle: HOOP_E_INVALID (none, empty or too long). */
enum hoop_status
store_key_check(const char *key);

/* Or NULL. */
struct store_entry *
store_find(const struct store *store, const char *key);

/* key has been checked. Handle: HOOP_E_EXHAUSTED, then nothing changed. */
enum hoop_status
store_put(struct cluster *cluster,
          struct job *job,
          const char *key,
          const struct store_value *value,
          struct store_entry **out_entry);

/* An entry that was. */
struct store_recovered_entry {
    struct store_value value;
    uint64_t number;
    uint64_t revision;
};

/* The store's last revision is known. Handle: HOOP_E_DATA_LOSS and others
 * (there cannot be such an entry). */
enum hoop_status
store_recover(struct cluster *cluster,
              struct job *job,
              const char *key,
              const struct store_recovered_entry *former);

/* When it goes away; UINT64_MAX: never. */
uint64_t
store_entry_end_ns(const struct store_entry *entry);

/* Takes entry. */
void
store_remove(struct cluster *cluster,
             struct store_entry *entry,
             enum cluster_key_change_kind kind);

/* The key has lived its time. */
void
store_expire(struct cluster *cluster, struct store_entry *entry);

/* For a reply; points into entry. */
struct cluster_entry
store_entry_view(const struct store_entry *entry);

#endif
