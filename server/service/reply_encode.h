/* service/reply_encode.h - a reply of the core as the body of a reply */

#ifndef SERVICE_REPLY_ENCODE_H
#define SERVICE_REPLY_ENCODE_H

#include <stdint.h>

#include "hoop/status.h"

#include "core/action.h"

struct pack;

/*
 * The roster of the last world that was asked for, packed once for all its
 * members: n rosters of n members would be too many. It does not change as long
 * as the epoch does not. Zeroed memory has none.
 */
struct encoded_roster {
    uint64_t epoch; /* the world's */
    uint8_t *bytes;
    size_t n_bytes;
};

void
encoded_roster_deinit(struct encoded_roster *roster);

static inline void
encoded_roster_deinit_at(struct encoded_roster *roster)
{
    encoded_roster_deinit(roster);
}

/* What the core cannot know. */
struct reply_encode_context {
    struct encoded_roster *roster; /* borrowed */
    uint64_t now_ns;
    uint64_t uptime_ms;
    uint64_t clock_ms; /* since 1970 */
    uint32_t serving;  /* enum health_serving */
    const char *version;
};

/*
 * The status that travels. A lost compare-and-set is an answer, not an
 * error: it has a body.
 */
enum hoop_status
reply_encode_status(const struct cluster_reply *reply);

/*
 * Encode the body, if the reply has one. Handle: HOOP_E_EXHAUSTED (no
 * memory); that it became too large the pack says.
 */
enum hoop_status
reply_encode_body(const struct cluster_reply *reply,
                  const struct reply_encode_context *context,
                  struct pack *pack);

#endif
