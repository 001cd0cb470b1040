/* tests/unit/examples/train_3d/alone.c - a session of one rank, for a group */

#include "alone.h"

#include <stdlib.h>

#include "hoop/coordinator.h"

#include "check.h"

struct alone {
    hoop_coordinator_t *coordinator;
    hoop_session_t *session;
};

int
alone_setup(void **state)
{
    struct alone *alone = calloc(1, sizeof(*alone));
    const struct hoop_coordinator_options options = {.listen = "127.0.0.1:0"};

    assert_non_null(alone);
    assert_ok(hoop_coordinator_start(&options, &alone->coordinator));
    const struct hoop_join_options join = {
        .coordinator = hoop_coordinator_address(alone->coordinator),
        .job = "alone",
        .world_size = 1,
    };
    if (hoop_join(&join, &alone->session) != HOOP_OK)
        fail_msg("%s", hoop_error_text());
    *state = alone;
    return 0;
}

int
alone_teardown(void **state)
{
    struct alone *alone = *state;

    hoop_leave(alone->session);
    hoop_coordinator_destroy(alone->coordinator);
    free(alone);
    return 0;
}

hoop_comm_t *
alone_comm(void **state)
{
    const struct alone *alone = *state;

    return hoop_world(alone->session);
}
