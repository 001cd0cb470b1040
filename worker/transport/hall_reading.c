/* transport/hall_reading.c - ranks of a hall read each other's buffers */

#include <stdlib.h>

#include "base/error.h"
#include "transport/hall_parts.h"

enum hoop_status
hall_attach(struct hall *hall,
            uint32_t rank,
            uint32_t pid,
            const struct attach_place *place)
{
    struct attached *other = &hall->ranks[rank].attached;

    *other = (struct attached){.pid = pid, .place = *place};
    const enum hoop_status status = attach_read(other, 0, NULL, 0);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hall_open_up(struct hall *hall)
{
    void *piece = NULL;

    if (posix_memalign(&piece, HALL_LINES, HALL_PIECE) != 0)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to read through");
    hall->piece = piece;
    return HOOP_OK;
}

void
hall_shut(struct hall *hall)
{
    free(hall->piece);
    hall->piece = NULL;
}

bool
hall_is_open(const struct hall *hall)
{
    return hall->piece;
}

uint8_t *
hall_piece(const struct hall *hall)
{
    return hall->piece;
}

enum hoop_status
hall_read(struct hall *hall,
          uint32_t rank,
          uint64_t address,
          void *to,
          size_t n_bytes)
{
    const enum hoop_status status =
        attach_read(&hall->ranks[rank].attached, address, to, n_bytes);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
