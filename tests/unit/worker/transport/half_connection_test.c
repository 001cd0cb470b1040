/*
 * tests/unit/worker/transport/half_connection_test.c - the states of a
 * connection, against the rules of docs/wire-format.md
 */

#include <string.h>

#include "check.h"
#include "transport/half_connection.h"

/* What happens to a half, and what follows from each state: a digit for the
 * next state, or - if it cannot happen there. */
struct half_event {
    const char *name;
    const char *next;
};

/*                                    0 NEW, 1 CONNECTING, 2 OPEN, 3 GOODBYE,
 *                                    4 ENDED, 5 BROKEN, 6 LOST */
static const struct half_event send_events[] = {
    {"a connection is asked for", "1------"},
    {"none can be made now", "-0-----"},
    {"the connection is made", "22-----"},
    {"our GOODBYE is queued", "--3----"},
    {"all is written", "---4---"},
    {"the peer reads no more", "--555--"},
    {"the peer has left, we close", "--44-4-"},
    {"the connection is lost", "666666-"},
};

/*                                    0 NEW, 1 OPEN, 2 GOODBYE, 3 ENDED,
 *                                    4 LOST */
static const struct half_event receive_events[] = {
    {"the connection is made", "1----"},
    {"the GOODBYE of the peer", "-2---"},
    {"its stream ends behind that", "--3--"},
    {"the connection is lost", "4444-"},
};

/* The table allows what some event does, and nothing else. */
static void
table_check(const struct state_table_row *table,
            unsigned n_states,
            const struct half_event *events,
            size_t n_events)
{
    for (unsigned now = 0; now < n_states; now++) {
        uint32_t reached = 0;

        for (size_t i = 0; i < n_events; i++) {
            const char next = events[i].next[now];

            assert_int_equal(strlen(events[i].next), n_states);
            if (next == '-')
                continue;
            reached |= SM_TO(next - '0');
            if (!(table[now].allowed & SM_TO(next - '0')))
                fail_msg("%s: %s", table[now].name, events[i].name);
        }
        assert_int_equal(table[now].allowed, reached);
    }
}

static void
table_allows_just_what_some_event_does(void **state)
{
    table_check(send_state_table, SEND_STATES, send_events,
                sizeof(send_events) / sizeof(send_events[0]));
    table_check(receive_state_table, RECEIVE_STATES, receive_events,
                sizeof(receive_events) / sizeof(receive_events[0]));
}

static void
nothing_follows_a_loss_and_each_state_can_be_lost(void **state)
{
    assert_int_equal(send_state_table[SEND_LOST].allowed, 0);
    assert_int_equal(receive_state_table[RECEIVE_LOST].allowed, 0);
    for (unsigned now = 0; now < SEND_LOST; now++)
        assert_true(send_state_table[now].allowed & SM_TO(SEND_LOST));
    for (unsigned now = 0; now < RECEIVE_LOST; now++)
        assert_true(receive_state_table[now].allowed & SM_TO(RECEIVE_LOST));
}

/* "GOODBYE is the last frame of its sender": no way leads back to a state in
 * which frames are queued. */
static void
no_frame_follows_a_goodbye(void **state)
{
    for (unsigned now = SEND_GOODBYE; now < SEND_STATES; now++)
        assert_int_equal(
            send_state_table[now].allowed & (SM_TO(SEND_GOODBYE + 1) - 1), 0);
}

static void
connection_is_over_when_both_streams_are(void **state)
{
    for (unsigned send = 0; send < SEND_STATES; send++) {
        for (unsigned receive = 0; receive < RECEIVE_STATES; receive++) {
            const bool is_over = receive == RECEIVE_ENDED &&
                                 (send == SEND_ENDED || send == SEND_BROKEN);

            assert_int_equal(connection_is_over((enum send_state)send,
                                                (enum receive_state)receive),
                             is_over);
        }
    }
}

/*
 * Two ranks that are connected, each of which may leave or die at any time, in
 * every order of what they do and of what arrives. They do what
 * transport/peer.c does.
 */

enum in_flight {
    IN_FLIGHT_NOTHING, /* yet */
    IN_FLIGHT_GOODBYE_AND_END,
    IN_FLIGHT_END,
    IN_FLIGHT_NOTHING_MORE,
};

struct side {
    unsigned send;
    unsigned receive;
    enum in_flight sent; /* what is on its way from here */
    bool is_closed;
    bool is_dead;
};

struct pair {
    struct side sides[2];
};

enum act {
    ACT_LEAVE,
    ACT_WRITE,
    ACT_RECEIVE_GOODBYE,
    ACT_RECEIVE_END,
    ACT_WRITE_FAILS,
    ACT_DIE,
    ACTS,
};

static void
side_set_send(struct side *side, unsigned next)
{
    side->send = state_transition(send_state_table, "test", side->send, next);
}

static void
side_set_receive(struct side *side, unsigned next)
{
    side->receive =
        state_transition(receive_state_table, "test", side->receive, next);
}

/* Whatever becomes of the connection, the other side finds its end. */
static void
side_close(struct side *side)
{
    side->is_closed = true;
    if (side->sent == IN_FLIGHT_NOTHING)
        side->sent = IN_FLIGHT_END;
}

static void
side_close_if_over(struct side *side)
{
    if (!connection_is_over((enum send_state)side->send,
                            (enum receive_state)side->receive))
        return;
    if (side->send != SEND_ENDED)
        side_set_send(side, SEND_ENDED);
    side_close(side);
}

static void
side_receive_end(struct side *side, struct side *other)
{
    other->sent = IN_FLIGHT_NOTHING_MORE;
    if (side->receive == RECEIVE_GOODBYE) {
        side_set_receive(side, RECEIVE_ENDED);
        side_close_if_over(side);
        return;
    }
    side_set_send(side, SEND_LOST);
    side_set_receive(side, RECEIVE_LOST);
    side_close(side);
}

/* Returns whether side can do act now, and does it. */
static bool
side_act(struct side *side, struct side *other, enum act act)
{
    if (side->is_dead || side->is_closed)
        return false;
    switch (act) {
    case ACT_LEAVE:
        if (side->send != SEND_OPEN)
            return false;
        side_set_send(side, SEND_GOODBYE);
        return true;
    case ACT_WRITE:
        if (side->send != SEND_GOODBYE)
            return false;
        side_set_send(side, SEND_ENDED);
        side->sent = IN_FLIGHT_GOODBYE_AND_END;
        side_close_if_over(side);
        return true;
    case ACT_RECEIVE_GOODBYE:
        if (other->sent != IN_FLIGHT_GOODBYE_AND_END)
            return false;
        other->sent = IN_FLIGHT_END;
        if (side->send == SEND_OPEN)
            side_set_send(side, SEND_GOODBYE);
        side_set_receive(side, RECEIVE_GOODBYE);
        return true;
    case ACT_RECEIVE_END:
        if (other->sent != IN_FLIGHT_END)
            return false;
        side_receive_end(side, other);
        return true;
    case ACT_WRITE_FAILS:
        if (!other->is_closed || side->send == SEND_BROKEN)
            return false;
        side_set_send(side, SEND_BROKEN);
        side_close_if_over(side);
        return true;
    case ACT_DIE:
        side->is_dead = true;
        side_close(side);
        return true;
    case ACTS:
        break;
    }
    return false;
}

static unsigned n_ends; /* of the walks below */
static bool may_die;

/* A side that lives ends well if the other said goodbye, and lost if not. */
static void
pair_check_end(const struct pair *pair)
{
    n_ends++;
    for (unsigned i = 0; i < 2; i++) {
        const struct side *side = &pair->sides[i];

        if (side->is_dead || (side->send == SEND_OPEN && !side->is_closed))
            continue;
        assert_true(side->is_closed);
        assert_true(may_die || side->send == SEND_ENDED);
        assert_int_equal(side->send == SEND_ENDED,
                         side->receive == RECEIVE_ENDED);
        assert_int_equal(side->send == SEND_LOST,
                         side->receive == RECEIVE_LOST);
        if (side->receive == RECEIVE_LOST)
            assert_true(pair->sides[1 - i].is_dead);
    }
}

static void
pair_walk(const struct pair *pair)
{
    bool has_moved = false;

    for (unsigned i = 0; i < 2 * ACTS; i++) {
        struct pair next = *pair;
        const enum act act = i / 2;

        if ((act == ACT_DIE && !may_die) ||
            !side_act(&next.sides[i % 2], &next.sides[1 - i % 2], act))
            continue;
        has_moved = true;
        pair_walk(&next);
    }
    if (!has_moved)
        pair_check_end(pair);
}

static const struct pair connected = {
    .sides = {{.send = SEND_OPEN, .receive = RECEIVE_OPEN},
              {.send = SEND_OPEN, .receive = RECEIVE_OPEN}},
};

static void
connection_ends_well_on_both_sides_whoever_leaves(void **state)
{
    may_die = false;
    n_ends = 0;
    pair_walk(&connected);
    assert_true(n_ends > 10);
}

static void
only_an_end_without_goodbye_is_a_loss(void **state)
{
    may_die = true;
    n_ends = 0;
    pair_walk(&connected);
    assert_true(n_ends > 100);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_allows_just_what_some_event_does),
        cmocka_unit_test(nothing_follows_a_loss_and_each_state_can_be_lost),
        cmocka_unit_test(no_frame_follows_a_goodbye),
        cmocka_unit_test(connection_is_over_when_both_streams_are),
        cmocka_unit_test(connection_ends_well_on_both_sides_whoever_leaves),
        cmocka_unit_test(only_an_end_without_goodbye_is_a_loss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
