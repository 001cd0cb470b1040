/*
 * tests/unit/common/base/evidence_test.c - base/evidence.c
 *
 * evidence_test PAGE: the page, docs/failure.md, shows what the table says.
 */

#include <stdio.h>
#include <string.h>

#include "base/evidence.h"
#include "check.h"

static char page[1 << 16];

static void
page_read(const char *path)
{
    FILE *file = fopen(path, "r");

    if (!file)
        return;
    page[fread(page, 1, sizeof(page) - 1, file)] = '\0';
    fclose(file);
}

static const char *
judge_name(enum evidence_decider decider)
{
    static const char *const names[] = {
        [EVIDENCE_FINAL] = "nobody any more",
        [EVIDENCE_ALONE] = "the rank that sees it, alone",
        [EVIDENCE_COORDINATOR] = "the coordinator, by the word of all",
        [EVIDENCE_UNLESS_HEARD] = "the coordinator, unless a rank hears it",
    };

    return names[decider];
}

/* | broken connection | who concludes | when | what is inferred | */
static void
page_shows_each_row(void **state)
{
    for (int i = 0; i < EVIDENCE_KINDS; i++) {
        const struct evidence_row *row = &evidence_rows[i];
        char when[64];
        char line[256];

        snprintf(when, sizeof(when), "%s%u ms",
                 row->is_waited && i == EVIDENCE_LEASE ? "the lease and "
                 : row->is_waited ? "the failure timeout and "
                                  : "",
                 row->within_ms);
        snprintf(line, sizeof(line), "\n| %s | %s | %s | %s |", row->name,
                 judge_name(row->decider), when,
                 row->inferred[0] ? row->inferred : "nothing");
        if (!strstr(page, line))
            fail_msg("docs/failure.md lacks%s", line);
    }
}

static void
page_has_the_times_of_the_decision(void **state)
{
    const struct {
        const char *what;
        int ms;
    } times[] = {
        {"first complaint", EVIDENCE_DECIDE_MS},
        {"signs of life of its peers", EVIDENCE_ANSWER_MS},
        {"lease has expired", EVIDENCE_LEASE_MS},
        {"without a decision", EVIDENCE_UNDECIDED_MS},
    };

    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        char line[128];

        snprintf(line, sizeof(line), "| %s | %d ms |", times[i].what,
                 times[i].ms);
        if (!strstr(page, line))
            fail_msg("docs/failure.md lacks %s", line);
    }
}

/* A rank that may conclude alone does so in time; others need the decision. */
static void
times_leave_room_for_the_decision(void **state)
{
    for (int i = 0; i < EVIDENCE_KINDS; i++) {
        const struct evidence_row *row = &evidence_rows[i];

        if (row->decider == EVIDENCE_COORDINATOR)
            assert_true(row->within_ms > EVIDENCE_DECIDE_MS);
        if (row->decider == EVIDENCE_UNLESS_HEARD)
            assert_true(row->within_ms > EVIDENCE_LEASE_MS);
    }
    assert_true(EVIDENCE_ANSWER_MS < EVIDENCE_DECIDE_MS);
    assert_true(EVIDENCE_DECIDE_MS < EVIDENCE_UNDECIDED_MS);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_shows_each_row),
        cmocka_unit_test(page_has_the_times_of_the_decision),
        cmocka_unit_test(times_leave_room_for_the_decision),
    };

    if (argc != 2)
        return 64;
    page_read(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
