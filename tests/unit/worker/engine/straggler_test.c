/* tests/unit/worker/engine/straggler_test.c - engine/failure/wait_diagnosis.c */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "check.h"
#include "engine/engine.h"
#include "engine/state.h"
#include "engine_pair.h"
#include "fault/fault.h"

enum {
    /* Of who must be warned before its end, and told that the other one lives,
     * also on a busy machine. */
    LATE_MS = 600,
    LONG_MS = 2000,
    FAILURE_MS = 4000,
    OP_MS = 300,
    TEXT_MAX = 8192,
};

static struct engine_pair engine_pair;
static char said[TEXT_MAX];

/* Two sums and a receive that nobody answers, and what was said meanwhile. */
static void
wait_in_vain(uint32_t late_warning_ms, uint32_t op_ms)
{
    struct comm_context *contexts[3];
    struct op *ops[3] = {NULL};
    int32_t value = 1;
    char bytes[4];
    const int before = dup(STDERR_FILENO);
    const int heard = memfd_create("heard", 0);
    struct config config = engine_pair_config();

    dup2(heard, STDERR_FILENO);
    config.failure_timeout_ms = FAILURE_MS;
    config.late_warning_ms = late_warning_ms;
    engine_pair_open_with(&engine_pair,
                          &(struct engine_options){.config = &config});
    engine_pair_connect(&engine_pair);
    engine_pair_start_backgrounds(&engine_pair);
    for (unsigned i = 0; i < 3; i++) {
        contexts[i] = engine_pair.sides[0].comms[i].context;
        context_set_timeout(contexts[i], op_ms);
    }
    assert_ok(sum_start(contexts[0], &value, 1, &ops[0]));
    assert_ok(sum_start(contexts[1], &value, 1, &ops[1]));
    assert_ok(receive_start(contexts[2], bytes, 4, 1, &ops[2]));
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(engine_wait(ops[i], patience()), HOOP_E_TIMEOUT);
    engine_pair_close(&engine_pair);
    dup2(before, STDERR_FILENO);
    close(before);
    const ssize_t n = pread(heard, said, sizeof(said) - 1, 0);
    said[n > 0 ? n : 0] = '\0';
    close(heard);
}

/* Of all three, in one line. */
static void
late_rank_is_named_once(void **state)
{
    static const char text[] =
        "warning late: allreduce #1 (int32, 1 elements, sum): rank 0 (host:40) "
        "waits for rank 1 (host:41) to send (0 of 4 bytes; it has not called "
        "this); it lives; ";

    wait_in_vain(LATE_MS, LONG_MS);
    const char *told = strstr(said, text);
    assert_non_null(told);
    const double waited_s = strtod(told + strlen(text), NULL);
    assert_true(waited_s >= LATE_MS / 1000.0 && waited_s < LONG_MS / 1000.0);
    assert_non_null(strstr(said, " s of the 2 s that its communicator allows; "
                                 "hoopctl why asks all ranks"));
    assert_null(strstr(strstr(said, "late:") + 1, "late:"));
}

static void
nobody_is_named_where_nobody_asks(void **state)
{
    wait_in_vain(0, OP_MS);
    assert_string_equal(said, "");
}

static void
nobody_is_named_before_the_time(void **state)
{
    wait_in_vain(OP_MS + 1000, OP_MS);
    assert_string_equal(said, "");
}

static void
names_of_operations_and_recoveries_are_known(void **state)
{
    assert_true(fault_call_name_exists("shrink"));
    assert_true(fault_call_name_exists("agree"));
    assert_true(fault_call_name_exists("grow"));
    assert_true(fault_call_name_exists("allreduce"));
    assert_false(fault_call_name_exists("shrinking"));
    assert_false(fault_call_name_exists(""));
}

/* How a process ends that goes through two tries of a shrink. */
static int
end_of(const char *text)
{
    int how = 0;
    const pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        struct engine engine = {0};

        if (faults_parse(text, 1, fault_call_name_exists, &engine.faults) !=
            HOOP_OK)
            _exit(100);
        const uint32_t rules = recovery_fault_begin(&engine, "shrink");
        for (uint64_t round = 1; round <= 2; round++)
            for (int turn = 1; turn <= 2; turn++) {
                recovery_fault_inject(&engine, rules, FAULT_AT_SEND, round);
                recovery_fault_inject(&engine, rules, FAULT_AT_RECEIVE, round);
            }
        recovery_fault_inject(&engine, rules, FAULT_AT_END, 2);
        faults_destroy(engine.faults);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
}

static void
process_ends_where_the_rule_says(void **state)
{
    static const struct {
        const char *text;
        int end;
    } rows[] = {
        {"", 0},
        {"op=agree,do=exit:7", 0},
        {"op=shrink,do=exit:7", 7},
        {"rank=2,op=shrink,do=exit:7", 0},
        {"op=shrink,seq=2,do=exit:7", 0},
        {"op=shrink,at=end,do=exit:8", 8},
        {"op=shrink,round=2,segment=2,at=receive,do=exit:9", 9},
        {"op=shrink,round=3,at=receive,do=exit:9", 0},
        {"op=shrink,segment=3,at=send,do=kill", -SIGKILL},
        {"op=shrink,do=reset", 0}, /* there is no frame */
    };

    if (!FAULT_IS_BUILT)
        skip();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (end_of(rows[i].text) != rows[i].end)
            fail_msg("%s: %d", rows[i].text, end_of(rows[i].text));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_rank_is_named_once),
        cmocka_unit_test(nobody_is_named_where_nobody_asks),
        cmocka_unit_test(nobody_is_named_before_the_time),
        cmocka_unit_test(names_of_operations_and_recoveries_are_known),
        cmocka_unit_test(process_ends_where_the_rule_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
