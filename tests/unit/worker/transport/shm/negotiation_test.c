/* tests/unit/worker/transport/shm/negotiation_test.c - transport/shm/negotiation.c */

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "transport/shm/negotiation.h"

/* Rank 0 dials rank 1; [0] is the dialer. */
static struct roster *rosters[2];
static struct handshake handshakes[2];
static struct shm_negotiation sides[2];

static int
sides_open(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(roster_create(2, &rosters[i]), HOOP_OK);
        rosters[i]->rank = i;
        handshakes[i] = (struct handshake){.roster = rosters[i], .peer = 1 - i};
        sides[i] = (struct shm_negotiation){.mode = SHM_MODE_AUTO};
    }
    return 0;
}

static int
sides_close(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        shm_negotiation_deinit(&sides[i]);
        roster_destroy(rosters[i]);
    }
    return 0;
}

static void
tell(unsigned from)
{
    memcpy(handshakes[1 - from].offer, handshakes[from].offer, HANDSHAKE_OFFER);
}

static void
sides_settle(void)
{
    shm_negotiation_offer(&sides[0], &handshakes[0]);
    tell(0);
    shm_negotiation_accept(&sides[1], &handshakes[1]);
    tell(1);
    shm_negotiation_finish(&sides[0], &handshakes[0]);
}

/* Both know that they do not share, why, and whether that is an error. */
static void
assert_apart(enum shm_obstacle obstacle, bool has_failed)
{
    for (unsigned i = 0; i < 2; i++) {
        assert_null(sides[i].segment);
        assert_int_equal(sides[i].obstacle, obstacle);
        assert_int_equal(shm_negotiation_has_failed(&sides[i]), has_failed);
    }
}

static void
two_of_one_node_share(void **state)
{
    (void)state;
    sides_settle();
    for (unsigned i = 0; i < 2; i++) {
        assert_non_null(sides[i].segment);
        assert_int_equal(sides[i].segment->fd, -1);
        assert_false(shm_negotiation_has_failed(&sides[i]));
    }
    assert_ptr_not_equal(sides[0].segment->base, sides[1].segment->base);
}

static void
two_of_different_nodes_do_not(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++)
        snprintf(rosters[i]->members[1].host_id, LIMIT_NAME, "far");
    sides_settle();
    assert_apart(SHM_OBSTACLE_OTHER_NODE, false);
}

static void
one_that_wants_tcp_has_it(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        sides[i].mode = SHM_MODE_NEVER;
        sides_settle();
        assert_apart(SHM_OBSTACLE_DISABLED, false);
        sides[1 - i].mode = SHM_MODE_ALWAYS;
        sides_settle();
        assert_apart(SHM_OBSTACLE_DISABLED, true);
        assert_non_null(
            strstr(shm_negotiation_text(&sides[0]), "HOOP_TRANSPORT=tcp"));
        sides_close(state);
        sides_open(state);
    }
}

/* As of a container with a /proc of its own. */
static void
offer_that_cannot_be_reached_is_left(void **state)
{
    (void)state;
    shm_negotiation_offer(&sides[0], &handshakes[0]);
    memset(handshakes[0].offer + 2, 0x7f, 4);
    tell(0);
    shm_negotiation_accept(&sides[1], &handshakes[1]);
    tell(1);
    shm_negotiation_finish(&sides[0], &handshakes[0]);
    assert_apart(SHM_OBSTACLE_UNREACHABLE, false);
}

static void
one_that_knows_nothing_of_it_is_left_in_peace(void **state)
{
    (void)state;
    memset(handshakes[1].offer, 0, HANDSHAKE_OFFER);
    shm_negotiation_accept(&sides[1], &handshakes[1]);
    assert_null(sides[1].segment);
    shm_negotiation_offer(&sides[0], &handshakes[0]);
    memset(handshakes[0].offer, 0, HANDSHAKE_OFFER);
    shm_negotiation_finish(&sides[0], &handshakes[0]);
    assert_apart(SHM_OBSTACLE_UNKNOWN, false);
}

/* From bytes that a peer chooses. */
static void
unknown_obstacle_is_one(void **state)
{
    (void)state;
    shm_negotiation_offer(&sides[0], &handshakes[0]);
    handshakes[0].offer[0] = 200;
    tell(0);
    shm_negotiation_accept(&sides[1], &handshakes[1]);
    assert_null(sides[1].segment);
    assert_non_null(
        strstr(shm_negotiation_text(&sides[1]), "does not say why"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_of_one_node_share, sides_open,
                                        sides_close),
        cmocka_unit_test_setup_teardown(two_of_different_nodes_do_not,
                                        sides_open, sides_close),
        cmocka_unit_test_setup_teardown(one_that_wants_tcp_has_it, sides_open,
                                        sides_close),
        cmocka_unit_test_setup_teardown(offer_that_cannot_be_reached_is_left,
                                        sides_open, sides_close),
        cmocka_unit_test_setup_teardown(
            one_that_knows_nothing_of_it_is_left_in_peace, sides_open,
            sides_close),
        cmocka_unit_test_setup_teardown(unknown_obstacle_is_one, sides_open,
                                        sides_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
