/*
 * tests/integration/session/join_settings_test.c - settings that a program
 * gives
 *
 * The test uses real processes and a real hoopd. Each worker gives hoop_join()
 * a list of settings.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hoop/control.h"

#include "base/cleanup.h"
#include "check.h"
#include "integration/daemon.h"

enum {
    N_WORKERS = 3,
    N_ELEMENTS = 5000, /* a wire dtype needs as many */
};

/* The settings of rank 0 apply to all, also those in its list. The bf16 nearest
 * to 0.3 is 77/256, and three times that is a bf16, too. int8 has no such
 * number. */
static int
lists_win_over_members_and_rank_0_says_what_is_its_to_say(
    const struct worker *worker)
{
    const char *const settings[] = {
        "job=lossy",         worker->index == 0 ? "wire_dtype=bf16" : "port=0",
        "transport=tcp",     "algorithm=allreduce:ring",
        "debug_spin=always", NULL};
    struct hoop_join_options options = worker_options(worker);
    CLEANUP(free) float *values = calloc(N_ELEMENTS, sizeof(*values));
    hoop_session_t *session = NULL;

    options.job = "another";
    options.wire_dtype = "int8";
    options.settings = settings;
    WORKER_CHECK(values && hoop_join(&options, &session) == HOOP_OK);
    for (size_t i = 0; i < N_ELEMENTS; i++)
        values[i] = 0.3F;
    WORKER_CHECK(hoop_allreduce(HOOP_IN_PLACE, values, N_ELEMENTS, HOOP_FLOAT32,
                                HOOP_SUM, hoop_world(session)) == HOOP_OK);
    for (size_t i = 0; i < N_ELEMENTS; i++)
        WORKER_CHECK(values[i] == 3 * 77 / 256.0F);
    hoop_leave(session);
    return 0;
}

/* These settings must be equal. Only rank 1 gives them, and all ranks are told,
 * by the name of the variable. */
static const struct {
    const char *item;
    const char *says;
} alike[] = {
    {"checksum=on", "HOOP_CHECKSUM"},
    {"on_failure=retry", "HOOP_ON_FAILURE"},
    {"check=full", "HOOP_CHECK"},
};

static int
what_must_be_alike_is_an_error_on_all_ranks(const struct worker *worker)
{
    for (size_t i = 0; i < COUNT_OF(alike); i++) {
        char job[32];
        snprintf(job, sizeof(job), "job=differing%zu", i);
        const char *const settings[] = {
            job, worker->index == 1 ? alike[i].item : NULL, NULL};
        struct hoop_join_options options = worker_options(worker);
        hoop_session_t *session = NULL;
        float value = 1;

        options.settings = settings;
        enum hoop_status status = hoop_join(&options, &session);
        if (status == HOOP_OK)
            status = hoop_allreduce(HOOP_IN_PLACE, &value, 1, HOOP_FLOAT32,
                                    HOOP_SUM, hoop_world(session));
        if (status == HOOP_OK || !strstr(hoop_error_text(), alike[i].says))
            return fprintf(stderr, "%s: %s\n", alike[i].item,
                           hoop_error_text()),
                   1;
        hoop_leave(session);
    }
    return 0;
}

/* Nothing is sent, so no coordinator is needed. */
static int
wrong_items_are_refused_at_once(const struct worker *worker)
{
    static const char *const rows[][2] = {
        {"timeot=5", "options.settings[0]: unknown setting 'timeot'; do you "
                     "mean 'timeout'?"},
        {"streams=9", "options.settings[0]: '9' is no value for streams: give "
                      "auto, 1, 2, 3, 4, 5, 6, 7 or 8"},
        {"codec=bf16+auto", "options.settings[0]: 'bf16+auto' is codec=auto "
                            "and wire_dtype=bf16 now"},
        {"spin=never", "options.settings[0]: 'spin' is named 'debug_spin' now"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *const settings[] = {rows[i][0], NULL};
        struct hoop_join_options options = worker_options(worker);
        struct hoop_control_options asked = {.settings = settings};
        hoop_session_t *session = NULL;
        hoop_control_t *control = NULL;

        options.coordinator = "localhost:1";
        options.settings = settings;
        WORKER_CHECK(hoop_join(&options, &session) == HOOP_E_INVALID);
        WORKER_CHECK(strcmp(hoop_error_text(), rows[i][1]) == 0);
        WORKER_CHECK(hoop_control_create(&asked, &control) == HOOP_E_INVALID);
        WORKER_CHECK(strcmp(hoop_error_text(), rows[i][1]) == 0);
    }
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        WORKERS_TEST(lists_win_over_members_and_rank_0_says_what_is_its_to_say,
                     N_WORKERS),
        WORKERS_TEST(what_must_be_alike_is_an_error_on_all_ranks, N_WORKERS),
        WORKERS_TEST(wrong_items_are_refused_at_once, 1),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
