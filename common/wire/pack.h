/*
 * wire/pack.h - encodes a message of the control plane
 *
 *   CLEANUP(pack_deinit) struct pack pack;
 *
 *   pack_init(&pack, LIMIT_RPC_MESSAGE);
 *   pack_array(&pack, 2);
 *   pack_str(&pack, key);
 *   pack_uint(&pack, revision);
 *   status = pack_take(&pack, &bytes, &n_bytes);
 *
 * Errors are checked once, at the end: the first one is kept, and later calls
 * do nothing. Several values may follow each other.
 *
 * Thread: one at a time.
 */

#ifndef WIRE_PACK_H
#define WIRE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"

/* The members are private to pack.c. */
struct pack {
    uint8_t *bytes;
    size_t n_bytes;
    size_t n_room;
    size_t n_bytes_max;
    size_t depth;
    size_t missing[LIMIT_MESSAGE_DEPTH]; /* elements still missing in the
                                            open arrays */
    enum hoop_status status;
};

/* Allocates nothing. */
void
pack_init(struct pack *pack, size_t n_bytes_max);

/* Free the bytes unless they were taken. Zeroed: nothing to free. */
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

/* NULL is encoded as "". */
void
pack_str(struct pack *pack, const char *text);

/* bytes may be NULL if n_bytes is 0. */
void
pack_bin(struct pack *pack, const void *bytes, size_t n_bytes);

/* Add a value that another pack has encoded. */
void
pack_packed(struct pack *pack, const void *bytes, size_t n_bytes);

/*
 * Handle: HOOP_E_EXHAUSTED (more than n_bytes_max, or no memory).
 * HOOP_E_INTERNAL: an array is incomplete or nested too deep.
 */
enum hoop_status
pack_status(const struct pack *pack);

/*
 * Return the bytes, which the caller frees with free(). The pack is then empty
 * and may be used again. Handle: as pack_status().
 */
enum hoop_status
pack_take(struct pack *pack, uint8_t **out_bytes, size_t *out_n_bytes);

#endif
