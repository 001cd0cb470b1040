/*
 * wire/pack.h - build a message of the control plane, ask once at the end
 *
 *     CLEANUP(pack_deinit) struct pack pack;
 *
 *     pack_init(&pack, LIMIT_RPC_MESSAGE);
 *     pack_array(&pack, 2);
 *     pack_str(&pack, key);
 *     pack_uint(&pack, revision);
 *     status = pack_take(&pack, &bytes, &n_bytes);
 *
 * The first failure is latched; later calls do nothing. Several values may
 * stand one after the other. Thread: one at a time.
 */

#ifndef WIRE_PACK_H
#define WIRE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"

/* Members are pack.c's. */
struct pack {
    uint8_t *bytes;
    size_t n_bytes;
    size_t n_room;
    size_t n_bytes_max;
    size_t depth;
    size_t missing[LIMIT_MESSAGE_DEPTH]; /* elements of the open arrays */
    enum hoop_status status;
};

/* Allocates nothing yet. */
void
pack_init(struct pack *pack, size_t n_bytes_max);

/* Frees the bytes unless they were taken. Zeroed memory is fine. */
void
pack_deinit(struct pack *pack);

static inline void
pack_deinit_at(struct pack *pack)
{
    pack_deinit(pack);
}

/* The next n_elements values are its elements. */
void
pack_array(struct pack *pack, size_t n_elements);
void
pack_uint(struct pack *pack, uint64_t value);
void
pack_int(struct pack *pack, int64_t value);
void
pack_bool(struct pack *pack, bool value);
void
pack_nil(struct pack *pack);

/* NULL is packed as "". */
void
pack_str(struct pack *pack, const char *text);

/* bytes may be NULL when n_bytes is 0. */
void
pack_bin(struct pack *pack, const void *bytes, size_t n_bytes);

/* One value that another pack has packed. */
void
pack_packed(struct pack *pack, const void *bytes, size_t n_bytes);

/*
 * Handle: HOOP_E_EXHAUSTED (more than n_bytes_max, or no memory). An array
 * that is not complete, or too deep, is HOOP_E_INTERNAL.
 */
enum hoop_status
pack_status(const struct pack *pack);

/*
 * Hand out the bytes: the caller frees them with free(). The pack is empty
 * then and may be used again. Handle: as pack_status().
 */
enum hoop_status
pack_take(struct pack *pack, uint8_t **out_bytes, size_t *out_n_bytes);

#endif
