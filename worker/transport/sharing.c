/*
 * transport/sharing.c - may two ranks share memory, and how they find out
 *
 * Offsets within the handshake's offer, little-endian, the rest zero:
 *
 *   0 obstacle u8   1 insists u8   2 pid u32   6 fd u32   10 key[32]
 *
 * A WELCOME's says only 0 and 1.
 */

#include "transport/sharing.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"

enum {
    AT_OBSTACLE = 0,
    AT_INSISTS = 1,
    AT_PID = 2,
    AT_FD = 6,
    AT_KEY = 10,
};

_Static_assert(AT_KEY + MEMORY_KEY <= HANDSHAKE_OFFER, "an offer fits");

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

/* Known to both without asking. */
static enum sharing_obstacle
obstacle_before(const struct sharing *sharing,
                const struct handshake *handshake)
{
    const struct roster *roster = handshake->roster;

    if (sharing->mode == SHARING_NEVER)
        return SHARING_UNWANTED;
    if (!roster_is_near(roster, handshake->peer))
        return SHARING_APART;
    return SHARING_POSSIBLE;
}

static void
say(const struct sharing *sharing, struct handshake *handshake)
{
    memset(handshake->offer, 0, HANDSHAKE_OFFER);
    handshake->offer[AT_OBSTACLE] = (uint8_t)sharing->obstacle;
    handshake->offer[AT_INSISTS] = sharing->mode == SHARING_ALWAYS;
}

static void
note_failure(struct sharing *sharing, enum sharing_obstacle obstacle)
{
    sharing->obstacle = obstacle;
    snprintf(sharing->why, sizeof(sharing->why), "%s", error_text());
    log_debug("peer", "no shared memory: %s", error_text());
}

void
sharing_offer(struct sharing *sharing, struct handshake *handshake)
{
    struct memory_place place = {0};

    sharing_deinit(sharing);
    sharing->obstacle = obstacle_before(sharing, handshake);
    if (sharing->obstacle == SHARING_POSSIBLE) {
        const size_t n_ring =
            segment_ring_bytes(roster_local_ranks(handshake->roster));

        if (segment_create(n_ring, &place, &sharing->segment) != HOOP_OK)
            note_failure(sharing, SHARING_UNMADE);
    }
    say(sharing, handshake);
    if (sharing->obstacle != SHARING_POSSIBLE)
        return;
    put_u32(handshake->offer + AT_PID, place.pid);
    put_u32(handshake->offer + AT_FD, place.fd);
    memcpy(handshake->offer + AT_KEY, place.key, MEMORY_KEY);
}

void
sharing_take(struct sharing *sharing, struct handshake *handshake)
{
    const uint8_t *offer = handshake->offer;
    const enum sharing_obstacle offered =
        (enum sharing_obstacle)offer[AT_OBSTACLE];
    struct memory_place place = {
        .pid = get_u32(offer + AT_PID),
        .fd = get_u32(offer + AT_FD),
    };

    memcpy(place.key, offer + AT_KEY, MEMORY_KEY);
    sharing_deinit(sharing);
    sharing->peer_insists = offer[AT_INSISTS] != 0;
    sharing->obstacle = obstacle_before(sharing, handshake);
    if (sharing->obstacle == SHARING_POSSIBLE && offered != SHARING_POSSIBLE)
        sharing->obstacle = offered;
    if (sharing->obstacle == SHARING_POSSIBLE &&
        segment_open(&place, &sharing->segment) != HOOP_OK)
        note_failure(sharing, SHARING_UNREACHED);
    say(sharing, handshake);
}

void
sharing_settle(struct sharing *sharing, const struct handshake *handshake)
{
    const enum sharing_obstacle answer =
        (enum sharing_obstacle)handshake->offer[AT_OBSTACLE];

    sharing->peer_insists = handshake->offer[AT_INSISTS] != 0;
    /* Ours is the reason where both have one: the peer repeats it. */
    if (sharing->obstacle == SHARING_POSSIBLE)
        sharing->obstacle = answer;
    if (sharing->obstacle == SHARING_POSSIBLE)
        segment_seal_off(sharing->segment);
    else
        segment_destroy(STEAL(sharing->segment));
}

bool
sharing_has_failed(const struct sharing *sharing)
{
    return sharing->obstacle != SHARING_POSSIBLE &&
           (sharing->mode == SHARING_ALWAYS || sharing->peer_insists);
}

const char *
sharing_why(const struct sharing *sharing)
{
    switch (sharing->obstacle) {
    case SHARING_UNSAID:
        break;
    case SHARING_POSSIBLE:
        return "they share memory";
    case SHARING_UNWANTED:
        return "one of them has HOOP_TRANSPORT=tcp";
    case SHARING_APART:
        return "they are on different nodes";
    case SHARING_UNMADE:
        return "the system gives none to share";
    case SHARING_UNREACHED:
        return "they are of different users or containers";
    }
    return "one of them does not say why";
}

void
sharing_deinit(struct sharing *sharing)
{
    segment_destroy(sharing->segment);
    sharing->segment = NULL;
}
