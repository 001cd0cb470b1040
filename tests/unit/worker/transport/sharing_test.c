/* tests/unit/worker/transport/sharing_test.c - transport/sharing.c */

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "transport/sharing.h"

/* Rank 0 dials rank 1; [0] is the dialer. */
static struct roster *rosters[2];
static struct handshake handshakes[2];
static struct sharing sides[2];

static int
sides_open(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(roster_create(2, &rosters[i]), HOOP_OK);
        rosters[i]->rank = i;
        handshakes[i] = (struct handshake){.roster = rosters[i], .peer = 1 - i};
        sides[i] = (struct sharing){.mode = SHARING_AUTO};
    }
    return 0;
}

static int
sides_close(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        sharing_deinit(&sides[i]);
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
    sharing_offer(&sides[0], &handshakes[0]);
    tell(0);
    sharing_take(&sides[1], &handshakes[1]);
    tell(1);
    sharing_settle(&sides[0], &handshakes[0]);
}

/* Both know that they do not share, why, and whether that is an error. */
static void
assert_apart(enum sharing_obstacle obstacle, bool has_failed)
{
    for (unsigned i = 0; i < 2; i++) {
        assert_null(sides[i].segment);
        assert_int_equal(sides[i].obstacle, obstacle);
        assert_int_equal(sharing_has_failed(&sides[i]), has_failed);
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
        assert_false(sharing_has_failed(&sides[i]));
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
    assert_apart(SHARING_APART, false);
}

static void
one_that_wants_tcp_has_it(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        sides[i].mode = SHARING_NEVER;
        sides_settle();
        assert_apart(SHARING_UNWANTED, false);
        sides[1 - i].mode = SHARING_ALWAYS;
        sides_settle();
        assert_apart(SHARING_UNWANTED, true);
        assert_non_null(strstr(sharing_why(&sides[0]), "HOOP_TRANSPORT=tcp"));
        sides_close(state);
        sides_open(state);
    }
}

/* As of a container with a /proc of its own. */
static void
offer_that_cannot_be_reached_is_left(void **state)
{
    (void)state;
    sharing_offer(&sides[0], &handshakes[0]);
    memset(handshakes[0].offer + 2, 0x7f, 4);
    tell(0);
    sharing_take(&sides[1], &handshakes[1]);
    tell(1);
    sharing_settle(&sides[0], &handshakes[0]);
    assert_apart(SHARING_UNREACHED, false);
}

static void
one_that_knows_nothing_of_it_is_left_in_peace(void **state)
{
    (void)state;
    memset(handshakes[1].offer, 0, HANDSHAKE_OFFER);
    sharing_take(&sides[1], &handshakes[1]);
    assert_null(sides[1].segment);
    sharing_offer(&sides[0], &handshakes[0]);
    memset(handshakes[0].offer, 0, HANDSHAKE_OFFER);
    sharing_settle(&sides[0], &handshakes[0]);
    assert_apart(SHARING_UNSAID, false);
}

/* From bytes that a peer chooses. */
static void
unknown_obstacle_is_one(void **state)
{
    (void)state;
    sharing_offer(&sides[0], &handshakes[0]);
    handshakes[0].offer[0] = 200;
    tell(0);
    sharing_take(&sides[1], &handshakes[1]);
    assert_null(sides[1].segment);
    assert_non_null(strstr(sharing_why(&sides[1]), "does not say why"));
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
