/*
 * tests/integration/session/control_store_test.c - the store of a job
 *
 * The members use it through their controls.
 */

#include <string.h>

#include "hoop/control.h"

#include "base/clock.h"
#include "check.h"
#include "integration/daemon.h"

static int
member_begin(const struct worker *worker,
             hoop_session_t **out_session,
             hoop_control_t **out_control)
{
    const struct hoop_join_options options = worker_options(worker);

    WORKER_CHECK(hoop_join(&options, out_session) == HOOP_OK);
    WORKER_CHECK(hoop_session_control(*out_session, out_control) == HOOP_OK);
    return 0;
}

static struct hoop_control_value
value_of(const char *text)
{
    return (struct hoop_control_value){.bytes = text, .n_bytes = strlen(text)};
}

static bool
is_text(const struct hoop_control_value *value, const char *text)
{
    return value->bytes && value->n_bytes == strlen(text) &&
           memcmp(value->bytes, text, value->n_bytes) == 0;
}

static int
values_are_read_added_to_and_exchanged(const struct worker *worker)
{
    static const char *const keys[] = {"a", "b", "none"};
    const struct hoop_control_value first = value_of("1st");
    const struct hoop_control_value empty = value_of("");
    const struct hoop_control_value *values = NULL;
    struct hoop_control_exchange exchange;
    hoop_session_t *session = NULL;
    hoop_control_t *control = NULL;
    int64_t sum = 0;

    WORKER_CHECK(member_begin(worker, &session, &control) == 0);
    WORKER_CHECK(
        strcmp(hoop_control_coordinator(control), worker->coordinator) == 0);
    WORKER_CHECK(hoop_control_set(control, "a", &first) == HOOP_OK);
    WORKER_CHECK(hoop_control_set(control, "b", &empty) == HOOP_OK);
    WORKER_CHECK(hoop_control_multi_get(control, keys, 3, &values) == HOOP_OK);
    WORKER_CHECK(is_text(&values[0], "1st") && is_text(&values[1], ""));
    WORKER_CHECK(!values[2].bytes && values[0].revision < values[1].revision);

    WORKER_CHECK(hoop_control_add(control, "n", 5, 0, &sum) == HOOP_OK);
    WORKER_CHECK(hoop_control_add(control, "n", -7, 0, &sum) == HOOP_OK);
    WORKER_CHECK(sum == -2);
    WORKER_CHECK(hoop_control_add(control, "a", 1, 0, &sum) ==
                 HOOP_E_PRECONDITION);

    WORKER_CHECK(hoop_control_compare_set(control, "a", NULL, &empty,
                                          &exchange) == HOOP_OK);
    WORKER_CHECK(!exchange.is_applied && is_text(&exchange.present, "1st"));
    WORKER_CHECK(hoop_control_compare_set(control, "a", &first, &empty,
                                          &exchange) == HOOP_OK);
    WORKER_CHECK(exchange.is_applied);
    WORKER_CHECK(hoop_control_compare_set(control, "none", &first, &empty,
                                          &exchange) == HOOP_OK);
    WORKER_CHECK(!exchange.is_applied && !exchange.present.bytes);
    WORKER_CHECK(hoop_control_compare_set(control, "none", NULL, &first,
                                          &exchange) == HOOP_OK);
    WORKER_CHECK(exchange.is_applied);

    WORKER_CHECK(hoop_control_multi_get(control, keys, 0, &values) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(hoop_control_wait(control, NULL, 1, &values) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(hoop_session_control(NULL, &control) == HOOP_E_INVALID);
    hoop_control_destroy(control);
    hoop_leave(session);
    return 0;
}

/* Member 1 waits for what member 0 sets, and then for its deletion. */
static int
changes_are_waited_for_and_watched(const struct worker *worker)
{
    static const char *const keys[] = {"x/late", "x/later"};
    struct hoop_control_value value = value_of("here");
    const struct hoop_control_value *values = NULL;
    const struct hoop_control_events *events = NULL;
    const struct hoop_control_keys *page = NULL;
    hoop_session_t *session = NULL;
    hoop_control_t *control = NULL;

    WORKER_CHECK(member_begin(worker, &session, &control) == 0);
    if (worker->index == 0) {
        WORKER_CHECK(hoop_control_set(control, keys[0], &value) == HOOP_OK);
        room_await(worker, 0);
        value.ttl_ms = 100;
        WORKER_CHECK(hoop_control_set(control, keys[1], &value) == HOOP_OK);
    } else {
        hoop_control_set_timeout(control, 60);
        WORKER_CHECK(hoop_control_wait(control, keys, 2, &values) ==
                     HOOP_E_TIMEOUT);
        WORKER_CHECK(strstr(hoop_error_text(), "nobody has set key \"x/late"));
        hoop_control_set_timeout(control, 20000);
        WORKER_CHECK(hoop_control_wait(control, keys, 1, &values) == HOOP_OK);
        WORKER_CHECK(is_text(&values[0], "here"));
        WORKER_CHECK(hoop_control_list(
                         control, &(struct hoop_control_scan){.prefix = "x/"},
                         &page) == HOOP_OK);
        const uint64_t revision = page->revision;

        hoop_control_set_timeout(control, 60);
        WORKER_CHECK(hoop_control_set(control, "y",
                                      &(struct hoop_control_value){
                                          .bytes = "", .n_bytes = 0}) ==
                     HOOP_OK);
        /* Events that others cause come after this revision. */
        WORKER_CHECK(hoop_control_watch(control, "x/", revision, &events) ==
                     HOOP_OK);
        WORKER_CHECK(events->n_events == 0 && events->revision > revision);
        const uint64_t later = events->revision;

        hoop_control_set_timeout(control, 20000);
        room_set(worker, 0, 1);
        WORKER_CHECK(hoop_control_watch(control, "x/", later, &events) ==
                     HOOP_OK);
        WORKER_CHECK(events->n_events == 1);
        WORKER_CHECK(strcmp(events->events[0].kind, "set") == 0);
        WORKER_CHECK(strcmp(events->events[0].key, "x/later") == 0);
        WORKER_CHECK(hoop_control_watch(control, "x/", events->revision,
                                        &events) == HOOP_OK);
        WORKER_CHECK(strcmp(events->events[0].kind, "expired") == 0);
    }
    WORKER_CHECK(hoop_barrier(hoop_world(session)) == HOOP_OK);
    hoop_leave(session);
    /* The control does not need the session any more. */
    WORKER_CHECK(hoop_control_health(control) == HOOP_OK);
    hoop_control_destroy(control);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        WORKERS_TEST(values_are_read_added_to_and_exchanged, 1),
        WORKERS_TEST(changes_are_waited_for_and_watched, 2),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
