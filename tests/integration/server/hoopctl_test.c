/*
 * tests/integration/server/hoopctl_test.c - runs hoopctl with a real hoopd
 *
 * The argument is the path of hoopctl.
 */

#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/coordinator_clients.h"
#include "integration/daemon.h"
#include "integration/program.h"

static const char *hoopctl;

static int
setup(void **state)
{
    static struct joined_pair pair;

    joined_pair_start(
        &pair, &(struct joined_pair_options){.job = "train", .n_clients = 2});
    assert_int_equal(setenv("HOOP_COORDINATOR", pair.daemon.address, 1), 0);
    assert_int_equal(setenv("HOOP_JOB", "train", 1), 0);
    assert_int_equal(setenv("HOOP_TOKEN", "secret", 1), 0);
    *state = &pair;
    return 0;
}

static int
teardown(void **state)
{
    joined_pair_stop(*state);
    return 0;
}

/* Splits words at blanks. The caller destroys the program. */
static struct program *
run(const char *words, int *out_code)
{
    const char *arguments[PROGRAM_ARGUMENTS_MAX] = {hoopctl};
    char text[256];
    char *rest = text;
    char *word = NULL;
    size_t n = 1;

    snprintf(text, sizeof(text), "%s", words);
    while ((word = strtok_r(rest, " ", &rest)))
        arguments[n++] = word;
    struct program *program = program_start(arguments, NULL);
    *out_code = program_wait(program);
    return program;
}

static json_t *
run_json(const char *words)
{
    int code = 0;
    struct program *program = run(words, &code);
    json_t *object = json_loads(program->out.text, 0, NULL);

    assert_int_equal(code, 0);
    assert_non_null(object);
    program_destroy(program);
    return object;
}

static void
assert_says(const char *words, int code_expected, const char *text)
{
    int code = 0;
    struct program *program = run(words, &code);

    if (code != code_expected ||
        (!strstr(program->out.text, text) && !strstr(program->err.text, text)))
        fail_msg("hoopctl %s: code %d, out '%s', err '%s'", words, code,
                 program->out.text, program->err.text);
    program_destroy(program);
}

static void
status_shows_the_job_in_both_forms(void **state)
{
    json_t *object = run_json("--json status");
    json_t *job = json_array_get(json_object_get(object, "jobs"), 0);

    assert_string_equal(json_string_value(json_object_get(job, "name")),
                        "train");
    assert_string_equal(json_string_value(json_object_get(job, "state")),
                        "running");
    assert_int_equal(json_integer_value(json_object_get(job, "members")), 2);
    json_decref(object);
    assert_says("status", 0, "train");
}

static void
ranks_show_every_member(void **state)
{
    json_t *object = run_json("ranks --json");
    json_t *ranks = json_object_get(object, "ranks");

    assert_int_equal(json_array_size(ranks), 2);
    for (size_t i = 0; i < 2; i++) {
        json_t *rank = json_array_get(ranks, i);

        assert_int_equal(json_integer_value(json_object_get(rank, "rank")), i);
        assert_string_equal(json_string_value(json_object_get(rank, "state")),
                            "active");
        assert_int_equal(json_integer_value(json_object_get(rank, "pid")),
                         4711);
    }
    json_decref(object);
    assert_says("ranks", 0, "testhost");
}

/* The members of this test answer no question. */
static void
why_names_members_that_do_not_answer(void **state)
{
    int code = 0;
    struct program *program = run("why --json", &code);
    json_t *object = json_loads(program->out.text, 0, NULL);

    assert_int_equal(code, 1);
    assert_non_null(object);
    assert_string_equal(json_string_value(json_object_get(object, "kind")),
                        "all-silent");
    assert_true(json_is_true(json_object_get(object, "is_held_up")));
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(json_integer_value(json_array_get(
                             json_object_get(object, "culprits"), i)),
                         i);
        json_t *rank = json_array_get(json_object_get(object, "ranks"), i);

        assert_non_null(
            strstr(json_string_value(json_object_get(rank, "silence")),
                   "no answer within"));
    }
    json_decref(object);
    program_destroy(program);
    assert_says("why", 1, "No rank answers hoopd");
}

static void
ranks_of_a_job_that_forms_say_who_is_missing(void **state)
{
    struct joined_pair *pair = *state;
    struct joiner joiners[3];
    struct coordinator_clients coordinator_clients;

    coordinator_clients_open(
        &coordinator_clients,
        &(struct coordinator_clients_options){.address = pair->daemon.address,
                                              .job = "forming",
                                              .token = "secret",
                                              .n_clients = 3});
    for (int i = 0; i < 3; i++)
        joiner_init(&joiners[i], coordinator_clients.clients[i], 0);
    joiners[0].request.rank = 1;
    joiner_start(&joiners[0]);
    daemon_expect_log(&pair->daemon, "joins job \"forming\"");
    assert_says("--job forming ranks", 0,
                "\nwaiting for the world size, which nobody has given; 1 here: "
                "testhost\n");
    joiners[1].request.world_size = 3;
    joiners[1].request.rank = 2;
    joiner_start(&joiners[1]);
    daemon_expect_log(&pair->daemon, "job \"forming\": 2 there");
    assert_says("--job forming ranks", 0,
                "\nwaiting for rank 0; 2 of 3 here: testhost\n");
    json_t *object = run_json("--json --job forming ranks");
    assert_string_equal(json_string_value(json_object_get(object, "missing")),
                        "rank 0");
    json_decref(object);
    joiner_start(&joiners[2]);
    for (int i = 0; i < 3; i++) {
        assert_ok(joiner_wait(&joiners[i]));
        joiner_deinit(&joiners[i]);
    }
    coordinator_clients_close(&coordinator_clients);
}

/* The program may begin to watch late, so a key is set until it has printed an
 * event. */
static void
store_watch_tells_what_happens(void **state)
{
    const char *arguments[] = {hoopctl, "store", "watch", "seen/", NULL};
    struct program *watch = program_start(arguments, NULL);
    struct pollfd said = {.fd = watch->out.fd, .events = POLLIN};

    while (poll(&said, 1, 0) == 0)
        assert_says("store set seen/1 x", 0, "");
    program_await(watch, "set seen/1\n");
    assert_says("store set unseen x", 0, "");
    assert_says("store set seen/2 x", 0, "");
    assert_says("store delete seen/1", 0, "");
    program_await(watch, "set seen/2\ndeleted seen/1\n");
    assert_null(strstr(watch->out.text, "unseen"));
    kill(watch->pid, SIGTERM);
    assert_int_equal(program_wait(watch), PROGRAM_KILLED + SIGTERM);
    program_destroy(watch);
    assert_says("store delete seen/2", 0, "");
    assert_says("store delete unseen", 0, "");
}

/* The program learns only by the next event that its reader is gone, or that
 * the disk is full. */
static void
store_watch_that_nobody_reads_ends(void **state)
{
    const char *arguments[] = {"/bin/sh", "-c",
                               "exec \"$0\" --json store watch > /dev/full",
                               hoopctl, NULL};
    struct program *watch = program_start(arguments, NULL);
    struct pollfd end = {.fd = watch->err.fd, .events = POLLIN};

    while (poll(&end, 1, 0) == 0)
        assert_says("store set seen x", 0, "");
    assert_int_equal(program_wait(watch), 1);
    assert_non_null(strstr(watch->err.text, "cannot write standard output"));
    program_destroy(watch);
    assert_says("store delete seen", 0, "");
}

static void
store_values_go_in_and_out(void **state)
{
    assert_says("store set color blue", 0, "");
    assert_says("store get color", 0, "blue\n");
    assert_says("store set colors/2 red", 0, "");
    json_t *object = run_json("--json store get color");
    assert_string_equal(json_string_value(json_object_get(object, "value")),
                        "blue");
    json_decref(object);
    object = run_json("--json store list color");
    assert_int_equal(json_array_size(json_object_get(object, "keys")), 2);
    json_decref(object);
    assert_says("store list colors/", 0, "colors/2\n");
    assert_says("store wait color", 0, "blue\n");
    assert_says("--timeout 0.5 store wait sound", 69,
                "nobody has set key \"sound\"");
    assert_says("store add count", 0, "1\n");
    assert_says("store add count -- -43", 0, "-42\n");
    assert_says("store add count 1x", 64, "'1x' is no number");
    assert_says("store add color 1", 1, "holds no decimal number");
    object = run_json("--json store add count 2");
    assert_int_equal(json_integer_value(json_object_get(object, "value")), -40);
    json_decref(object);
    assert_says("store delete color", 0, "");
    assert_says("store get color", 1, "no key 'color'");
    assert_says("store delete color", 1, "no key 'color'");
}

static void
groups_and_health_answer(void **state)
{
    json_t *object = run_json("--json groups");

    assert_int_equal(json_array_size(json_object_get(object, "groups")), 0);
    json_decref(object);
    assert_says("health", 0, "serves");
}

static void
tokens_that_allow_less_are_made_and_refused_more(void **state)
{
    struct program *program = NULL;
    char token[256];
    int code = 0;

    program = run("token operator", &code);
    assert_int_equal(code, 0);
    assert_int_equal(sscanf(program->out.text, "%255s", token), 1);
    program_destroy(program);
    json_t *object = run_json("--json token operator");
    assert_string_equal(json_string_value(json_object_get(object, "token")),
                        token);
    json_decref(object);
    assert_says("token nobody", 64, "there is no role 'nobody'");

    assert_int_equal(setenv("HOOP_TOKEN", token, 1), 0);
    assert_says("ranks", 0, "active");
    assert_says("store list", 77, "PERMISSION_DENIED");
    assert_says("store list", 77, "role worker");
    assert_says("token metrics", 77, "lesser role");
    assert_int_equal(setenv("HOOP_TOKEN", "secret", 1), 0);
}

static void
errors_are_told_with_their_reason(void **state)
{
    assert_says("--job other ranks", 1, "other");
    assert_says("--coordinator 127.0.0.1:1 --timeout 0.5 status", 69,
                "127.0.0.1:1");
    /* It fails at once, without waiting for so long. */
    assert_says("--coordinator 127.0.0.1:1 --timeout 86400 health", 69,
                "127.0.0.1:1");
    assert_says("--coordinator nonsense status", 64, "nonsense");
    assert_says("--token-file /nowhere ranks", 0, "active");
    assert_says("nonsense", 64, "nonsense");
    assert_says("store get", 64, "store get KEY");
    assert_says("store", 64, "hoopctl store list [PREFIX]");
    assert_says("store got KEY", 64, "hoopctl store get KEY");
    assert_says("--timeout never status", 64, "--timeout");
    assert_says("status --listen", 64, "--listen and --peer are for doctor");
    assert_says("ranks --peer a:5", 64, "--listen and --peer are for doctor");
    assert_int_equal(setenv("HOOP_TOKEN", "guessed", 1), 0);
    assert_says("ranks", 77, "UNAUTHENTICATED");
    assert_int_equal(setenv("HOOP_TOKEN", "secret", 1), 0);
    assert_int_equal(unsetenv("HOOP_COORDINATOR"), 0);
    assert_says("status", 64, "which coordinator?");
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_shows_the_job_in_both_forms),
        cmocka_unit_test(ranks_show_every_member),
        cmocka_unit_test(why_names_members_that_do_not_answer),
        cmocka_unit_test(ranks_of_a_job_that_forms_say_who_is_missing),
        cmocka_unit_test(store_values_go_in_and_out),
        cmocka_unit_test(store_watch_tells_what_happens),
        cmocka_unit_test(store_watch_that_nobody_reads_ends),
        cmocka_unit_test(groups_and_health_answer),
        cmocka_unit_test(tokens_that_allow_less_are_made_and_refused_more),
        cmocka_unit_test(errors_are_told_with_their_reason),
    };

    if (argc != 2)
        return 2;
    hoopctl = argv[1];
    return cmocka_run_group_tests(tests, setup, teardown);
}
