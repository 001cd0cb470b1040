/*
 * transport/shm/negotiation.c - whether two ranks can share memory
 *
 * Offsets within the handshake's offer, little-endian, the rest zero:
 *
 *   0 obstacle u8   1 insists u8   2 pid u32   6 fd u32   10 key[32]
 *
 * A WELCOME has only the fields at 0 and 1.
 */

#include "transport/shm/negotiation.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"

enum {
    SHM_OFFER_OBSTACLE_OFFSET = 0,
    SHM_OFFER_REQUIRES_OFFSET = 1,
    SHM_OFFER_PID_OFFSET = 2,
    SHM_OFFER_FD_OFFSET = 6,
    SHM_OFFER_KEY_OFFSET = 10,
};

_Static_assert(SHM_OFFER_KEY_OFFSET + MEMORY_KEY_BYTES <= HANDSHAKE_OFFER_BYTES,
               "an offer fits");

static void
put_u32(uint8_t *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t
get_u32(const uint8_t *at)
{
    uint32_t value = 0;

    for (unsigned i = 0; i < 4; i++)
        value |= (uint32_t)at[i] << (8 * i);
    return value;
}

/* Returns the obstacle that this rank knows without asking the peer. */
static enum shm_obstacle
find_local_shm_obstacle(const struct shm_negotiation *shm_negotiation,
                        const struct handshake *handshake)
{
    const struct roster *roster = handshake->roster;

    if (shm_negotiation->mode == SHM_MODE_NEVER)
        return SHM_OBSTACLE_DISABLED;
    if (!roster_is_same_node(roster, handshake->peer))
        return SHM_OBSTACLE_OTHER_NODE;
    return SHM_OBSTACLE_NONE;
}

static void
shm_offer_write_status(const struct shm_negotiation *shm_negotiation,
                       struct handshake *handshake)
{
    memset(handshake->offer, 0, HANDSHAKE_OFFER_BYTES);
    handshake->offer[SHM_OFFER_OBSTACLE_OFFSET] =
        (uint8_t)shm_negotiation->obstacle;
    handshake->offer[SHM_OFFER_REQUIRES_OFFSET] =
        shm_negotiation->mode == SHM_MODE_ALWAYS;
}

static void
shm_negotiation_note_failure(struct shm_negotiation *shm_negotiation,
                             enum shm_obstacle obstacle)
{
    shm_negotiation->obstacle = obstacle;
    snprintf(shm_negotiation->why, sizeof(shm_negotiation->why), "%s",
             error_text());
    log_debug("peer", "no shared memory: %s", error_text());
}

void
shm_negotiation_offer(struct shm_negotiation *shm_negotiation,
                      struct handshake *handshake)
{
    struct shared_memory_handle place = {0};

    shm_negotiation_deinit(shm_negotiation);
    shm_negotiation->obstacle =
        find_local_shm_obstacle(shm_negotiation, handshake);
    if (shm_negotiation->obstacle == SHM_OBSTACLE_NONE) {
        const size_t n_ring =
            segment_ring_bytes(roster_local_size(handshake->roster));

        if (segment_create(n_ring, &place, &shm_negotiation->segment) !=
            HOOP_OK)
            shm_negotiation_note_failure(shm_negotiation,
                                         SHM_OBSTACLE_NO_MEMORY);
    }
    shm_offer_write_status(shm_negotiation, handshake);
    if (shm_negotiation->obstacle != SHM_OBSTACLE_NONE)
        return;
    put_u32(handshake->offer + SHM_OFFER_PID_OFFSET, place.pid);
    put_u32(handshake->offer + SHM_OFFER_FD_OFFSET, place.fd);
    memcpy(handshake->offer + SHM_OFFER_KEY_OFFSET, place.key,
           MEMORY_KEY_BYTES);
}

void
shm_negotiation_accept(struct shm_negotiation *shm_negotiation,
                       struct handshake *handshake)
{
    const uint8_t *offer = handshake->offer;
    const enum shm_obstacle offered =
        (enum shm_obstacle)offer[SHM_OFFER_OBSTACLE_OFFSET];
    struct shared_memory_handle place = {
        .pid = get_u32(offer + SHM_OFFER_PID_OFFSET),
        .fd = get_u32(offer + SHM_OFFER_FD_OFFSET),
    };

    memcpy(place.key, offer + SHM_OFFER_KEY_OFFSET, MEMORY_KEY_BYTES);
    shm_negotiation_deinit(shm_negotiation);
    shm_negotiation->peer_requires_shm = offer[SHM_OFFER_REQUIRES_OFFSET] != 0;
    shm_negotiation->obstacle =
        find_local_shm_obstacle(shm_negotiation, handshake);
    if (shm_negotiation->obstacle == SHM_OBSTACLE_NONE &&
        offered != SHM_OBSTACLE_NONE)
        shm_negotiation->obstacle = offered;
    if (shm_negotiation->obstacle == SHM_OBSTACLE_NONE &&
        segment_open(&place, &shm_negotiation->segment) != HOOP_OK)
        shm_negotiation_note_failure(shm_negotiation, SHM_OBSTACLE_UNREACHABLE);
    shm_offer_write_status(shm_negotiation, handshake);
}

void
shm_negotiation_finish(struct shm_negotiation *shm_negotiation,
                       const struct handshake *handshake)
{
    const enum shm_obstacle answer =
        (enum shm_obstacle)handshake->offer[SHM_OFFER_OBSTACLE_OFFSET];

    shm_negotiation->peer_requires_shm =
        handshake->offer[SHM_OFFER_REQUIRES_OFFSET] != 0;
    /* If both have an obstacle, the peer repeats ours, which is the reason. */
    if (shm_negotiation->obstacle == SHM_OBSTACLE_NONE)
        shm_negotiation->obstacle = answer;
    if (shm_negotiation->obstacle == SHM_OBSTACLE_NONE)
        segment_close_fd(shm_negotiation->segment);
    else
        segment_destroy(STEAL(shm_negotiation->segment));
}

bool
shm_negotiation_has_failed(const struct shm_negotiation *shm_negotiation)
{
    return shm_negotiation->obstacle != SHM_OBSTACLE_NONE &&
           (shm_negotiation->mode == SHM_MODE_ALWAYS ||
            shm_negotiation->peer_requires_shm);
}

const char *
shm_negotiation_text(const struct shm_negotiation *shm_negotiation)
{
    switch (shm_negotiation->obstacle) {
    case SHM_OBSTACLE_UNKNOWN:
        break;
    case SHM_OBSTACLE_NONE:
        return "they share memory";
    case SHM_OBSTACLE_DISABLED:
        return "one of them has HOOP_TRANSPORT=tcp";
    case SHM_OBSTACLE_OTHER_NODE:
        return "they are on different nodes";
    case SHM_OBSTACLE_NO_MEMORY:
        return "the system gives none to share";
    case SHM_OBSTACLE_UNREACHABLE:
        return "they are of different users or containers";
    }
    return "one of them does not say why";
}

void
shm_negotiation_deinit(struct shm_negotiation *shm_negotiation)
{
    segment_destroy(shm_negotiation->segment);
    shm_negotiation->segment = NULL;
}
