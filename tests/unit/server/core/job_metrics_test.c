/* tests/unit/server/core/job_metrics_test.c - core/job_metrics.c */

#include <stdio.h>
#include <stdlib.h>

#include "core/job_metrics.h"
#include "fixture.h"
#include "record_store.h"

struct sums {
    struct job_metrics_row *rows;
    size_t n_rows;
};

static void
sums_read(const struct fixture *f, struct sums *sums)
{
    free(sums->rows);
    sums->rows = cluster_job_metrics(f->cluster, f->now_ns, &sums->n_rows);
}

static void
sums_deinit_at(struct sums *sums)
{
    free(sums->rows);
}

/* The row of a job and host, or NULL. No two rows have one name. */
static const struct job_metrics_row *
sums_find(const struct sums *sums, const char *job, const char *host)
{
    const struct job_metrics_row *found = NULL;

    for (size_t i = 0; i < sums->n_rows; i++) {
        if (strcmp(sums->rows[i].job, job) != 0 ||
            strcmp(sums->rows[i].host.host, host) != 0)
            continue;
        assert_null(found);
        found = &sums->rows[i];
    }
    return found;
}

static const struct job_metrics_row *
sums_of(struct fixture *f, struct sums *sums, const char *job, const char *host)
{
    sums_read(f, sums);
    const struct job_metrics_row *row = sums_find(sums, job, host);

    assert_non_null(row);
    return row;
}

static void
assert_ranks(const struct job_metrics_row *row,
             uint32_t joining,
             uint32_t active,
             uint32_t left,
             uint32_t lost)
{
    assert_int_equal(row->host.n_ranks[CLUSTER_MEMBER_JOINING], joining);
    assert_int_equal(row->host.n_ranks[CLUSTER_MEMBER_ACTIVE], active);
    assert_int_equal(row->host.n_ranks[CLUSTER_MEMBER_LEFT], left);
    assert_int_equal(row->host.n_ranks[CLUSTER_MEMBER_LOST], lost);
}

static void
join_on_host(struct fixture *f,
             const char *job,
             uint32_t number,
             uint32_t size,
             const char *host)
{
    struct cluster_event event = fixture_join_event(number, number - 1, size);

    event.job = job;
    event.join.host = host;
    fixture_step(f, event);
}

static uint64_t
epoch_of(const struct fixture *f)
{
    for (size_t i = 0; i < f->actions.n_items; i++) {
        if (f->actions.items[i].kind == CLUSTER_REPLY &&
            f->actions.items[i].reply.kind == CLUSTER_REPLY_WORLD)
            return f->actions.items[i].reply.world.epoch;
    }
    fail();
    return 0;
}

static void
tell(struct fixture *f,
     const char *job,
     uint64_t epoch,
     uint32_t number,
     struct rank_totals totals)
{
    const uint64_t ticket = fixture_step(
        f, (struct cluster_event){
               .kind = CLUSTER_RENEW,
               .job = job,
               .renewal = {.member = {epoch, number}, .totals = totals},
           });

    assert_int_equal(fixture_reply(f, ticket)->status, HOOP_OK);
}

static void
leave(struct fixture *f,
      const char *job,
      uint64_t epoch,
      uint32_t number,
      struct rank_totals totals)
{
    const uint64_t ticket = fixture_step(
        f, (struct cluster_event){
               .kind = CLUSTER_LEAVE,
               .job = job,
               .leave = {.member = {epoch, number}, .totals = totals}});

    assert_int_equal(fixture_reply(f, ticket)->status, HOOP_OK);
}

static void
totals_are_added_up_by_host_and_never_shrink(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    CLEANUP(sums_deinit) struct sums sums = {0};

    fixture_init(&f, &(struct cluster_options){0});
    join_on_host(&f, "a", 1, 3, "x");
    assert_ranks(sums_of(&f, &sums, "a", "x"), 1, 0, 0, 0);
    join_on_host(&f, "a", 2, 3, "x");
    join_on_host(&f, "a", 3, 3, "y");
    const uint64_t epoch = epoch_of(&f);
    assert_ranks(sums_of(&f, &sums, "a", "x"), 0, 2, 0, 0);
    assert_ranks(sums_of(&f, &sums, "a", "y"), 0, 1, 0, 0);

    tell(&f, "a", epoch, 1, (struct rank_totals){.calls = 5, .join_us = 300});
    tell(&f, "a", epoch, 2, (struct rank_totals){.calls = 7, .join_us = 200});
    tell(&f, "a", epoch, 3, (struct rank_totals){.bytes_sent = 1000});
    /* An answer that overtook a later renewal, and one without totals. */
    tell(&f, "a", epoch, 1, (struct rank_totals){.calls = 4});
    tell(&f, "a", epoch, 1, (struct rank_totals){0});
    assert_int_equal(sums_of(&f, &sums, "a", "x")->host.totals.calls, 12);
    assert_int_equal(sums_of(&f, &sums, "a", "x")->host.totals.join_us, 300);
    assert_int_equal(sums_of(&f, &sums, "a", "y")->host.totals.calls, 0);
    assert_int_equal(sums_of(&f, &sums, "a", "y")->host.totals.bytes_sent,
                     1000);

    leave(&f, "a", epoch, 1, (struct rank_totals){.calls = 9});
    assert_int_equal(sums_of(&f, &sums, "a", "x")->host.totals.calls, 16);
    assert_ranks(sums_of(&f, &sums, "a", "x"), 0, 1, 1, 0);
    for (int i = 0; i < 60; i++) { /* nobody renews a lease of 10 s */
        f.now_ns += FIXTURE_S;
        fixture_tick(&f);
    }
    assert_int_equal(sums_of(&f, &sums, "a", "x")->host.totals.calls, 16);
    assert_ranks(sums_of(&f, &sums, "a", "x"), 0, 0, 1, 1);
    assert_ranks(sums_of(&f, &sums, "a", "y"), 0, 0, 0, 1);
}

/* A join that is withdrawn leaves nothing behind. */
static void
withdrawn_worker_is_counted_no_longer(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    CLEANUP(sums_deinit) struct sums sums = {0};

    fixture_init(&f, &(struct cluster_options){0});
    join_on_host(&f, "a", 1, 2, "x");
    fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_DISCONNECT, .client = 1});
    assert_ranks(sums_of(&f, &sums, "a", "x"), 0, 0, 0, 0);
}

static void
job_run_alone(struct fixture *f, const char *job, uint64_t n_calls)
{
    join_on_host(f, job, 1, 1, "x");
    leave(f, job, epoch_of(f), 1, (struct rank_totals){.calls = n_calls});
}

static void
sums_outlive_the_job_for_some_time(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    CLEANUP(sums_deinit) struct sums sums = {0};

    fixture_init(&f, &(struct cluster_options){0});
    job_run_alone(&f, "a", 3);
    assert_ranks(sums_of(&f, &sums, "a", "x"), 0, 0, 1, 0);
    f.now_ns += (JOB_METRICS_KEPT_S - 1) * FIXTURE_S;
    assert_int_equal(sums_of(&f, &sums, "a", "x")->host.totals.calls, 3);

    /* The next job of the name goes on counting, with ranks of its own. */
    job_run_alone(&f, "a", 4);
    assert_int_equal(sums_of(&f, &sums, "a", "x")->host.totals.calls, 7);
    assert_ranks(sums_of(&f, &sums, "a", "x"), 0, 0, 1, 0);

    f.now_ns += JOB_METRICS_KEPT_S * FIXTURE_S;
    sums_read(&f, &sums);
    assert_int_equal(sums.n_rows, 0);
    job_run_alone(&f, "a", 5);
    assert_int_equal(sums_of(&f, &sums, "a", "x")->host.totals.calls, 5);
}

static void
too_many_jobs_are_one_called_other(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    CLEANUP(sums_deinit) struct sums sums = {0};
    uint64_t n_calls = 0;

    fixture_init(&f, &(struct cluster_options){0});
    job_run_alone(&f, "other", 1);
    for (uint32_t i = 0; i < JOB_METRICS_JOBS_MAX + 9; i++) {
        char job[32];

        snprintf(job, sizeof(job), "job-%u", i);
        job_run_alone(&f, job, 100);
    }
    sums_read(&f, &sums);
    assert_int_equal(sums.n_rows, JOB_METRICS_JOBS_MAX);
    for (size_t i = 0; i < sums.n_rows; i++)
        n_calls += sums.rows[i].host.totals.calls;
    assert_int_equal(n_calls, 100 * (JOB_METRICS_JOBS_MAX + 9) + 1);
    assert_int_equal(sums_of(&f, &sums, "other", "other")->host.totals.calls,
                     1001);

    /* There is room again, but what was added up as other stays there. */
    f.now_ns += JOB_METRICS_KEPT_S * FIXTURE_S;
    job_run_alone(&f, "new", 2);
    assert_int_equal(sums_of(&f, &sums, "new", "x")->host.totals.calls, 2);
    assert_int_equal(sums_of(&f, &sums, "other", "other")->host.totals.calls,
                     1001);
    assert_int_equal(sums.n_rows, 2);
}

static void
too_many_hosts_are_one_called_other(void **state)
{
    enum {
        SIZE = JOB_METRICS_HOSTS_MAX + 9
    };
    CLEANUP(fixture_deinit) struct fixture f;
    CLEANUP(sums_deinit) struct sums sums = {0};

    fixture_init(&f, &(struct cluster_options){0});
    for (uint32_t i = 1; i <= SIZE; i++) {
        char host[32];

        snprintf(host, sizeof(host), "h%u", i);
        join_on_host(&f, "a", i, SIZE, host);
    }
    const uint64_t epoch = epoch_of(&f);
    for (uint32_t i = 1; i <= SIZE; i++)
        tell(&f, "a", epoch, i, (struct rank_totals){.calls = 1});
    sums_read(&f, &sums);
    assert_int_equal(sums.n_rows, JOB_METRICS_HOSTS_MAX + 1);
    assert_int_equal(sums_of(&f, &sums, "a", "h1")->host.totals.calls, 1);
    assert_int_equal(sums_of(&f, &sums, "a", "other")->host.totals.calls, 9);
    assert_ranks(sums_of(&f, &sums, "a", "other"), 0, 9, 0, 0);
}

/* Two rows of one name would make Prometheus refuse all. */
static void
hosts_that_look_the_same_are_one(void **state)
{
    struct job_metrics_table table = {0};
    struct job_metrics *metrics = job_metrics_begin(&table, "a", 0);
    const uint32_t host = job_metrics_host(metrics, "x\x01");

    assert_int_equal(job_metrics_host(metrics, "x\\u0001"), host);
    assert_int_not_equal(job_metrics_host(metrics, "x"), host);
    assert_string_equal(metrics->hosts[host].host, "x\\u0001");
    job_metrics_table_deinit(&table);
}

static uint64_t
followed_step(struct fixture *f,
              struct record_store *record_store,
              struct cluster_event event)
{
    const uint64_t ticket = fixture_step(f, event);

    record_store_apply(record_store, f);
    return ticket;
}

/* Fewer than before would look like a counter that began again. */
static void
restarted_coordinator_shows_no_totals_before_all_have_told(void **state)
{
    struct record_store record_store = {0};
    CLEANUP(fixture_deinit) struct fixture f;
    CLEANUP(sums_deinit) struct sums sums = {0};

    record_store_begin(&f);
    for (uint32_t i = 1; i <= 3; i++)
        followed_step(&f, &record_store, fixture_join_event(i, i - 1, 3));
    const uint64_t epoch = epoch_of(&f);
    for (uint32_t i = 1; i <= 3; i++)
        tell(&f, "a", epoch, i, (struct rank_totals){.calls = 10});
    assert_true(sums_of(&f, &sums, "a", "h")->has_totals);
    record_store_restart(&record_store, &f);

    assert_false(sums_of(&f, &sums, "a", "h")->has_totals);
    assert_ranks(sums_of(&f, &sums, "a", "h"), 0, 3, 0, 0);
    tell(&f, "a", epoch, 1, (struct rank_totals){.calls = 11});
    tell(&f, "a", epoch, 2, (struct rank_totals){.calls = 12});
    assert_false(sums_of(&f, &sums, "a", "h")->has_totals);
    leave(&f, "a", epoch, 3, (struct rank_totals){.calls = 13});
    assert_true(sums_of(&f, &sums, "a", "h")->has_totals);
    assert_int_equal(sums_of(&f, &sums, "a", "h")->host.totals.calls, 36);
    assert_ranks(sums_of(&f, &sums, "a", "h"), 0, 2, 1, 0);
    record_store_deinit(&record_store);
}

/* Both members of job "a" of two are in the world by which it grows. */
static void
worker_in_two_worlds_is_one_rank(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    CLEANUP(sums_deinit) struct sums sums = {0};

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t first = fixture_world(&f, 2);
    for (uint32_t i = 1; i <= 2; i++) {
        struct cluster_event event = fixture_join_event(10 + i, i - 1, 3);

        event.job = "a+1";
        event.join.root = "a";
        event.join.membership = i;
        event.join.size_min = 3;
        fixture_step(&f, event);
    }
    assert_ranks(sums_of(&f, &sums, "a", "h"), 0, 2, 0, 0);
    fixture_step(&f, fixture_join_event(3, CLUSTER_RANK_ANY, 3));
    const uint64_t second = epoch_of(&f);
    assert_ranks(sums_of(&f, &sums, "a", "h"), 0, 3, 0, 0);
    tell(&f, "a", first, 1, (struct rank_totals){.calls = 1});
    tell(&f, "a+1", second, 11, (struct rank_totals){.calls = 2});
    leave(&f, "a+1", second, 11, (struct rank_totals){.calls = 4});
    assert_ranks(sums_of(&f, &sums, "a", "h"), 0, 3, 0, 0);
    leave(&f, "a", first, 1, (struct rank_totals){.calls = 8});
    assert_ranks(sums_of(&f, &sums, "a", "h"), 0, 2, 1, 0);
    assert_int_equal(sums.n_rows, 1);
    assert_int_equal(sums_of(&f, &sums, "a", "h")->host.totals.calls, 12);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_are_added_up_by_host_and_never_shrink),
        cmocka_unit_test(withdrawn_worker_is_counted_no_longer),
        cmocka_unit_test(sums_outlive_the_job_for_some_time),
        cmocka_unit_test(too_many_jobs_are_one_called_other),
        cmocka_unit_test(too_many_hosts_are_one_called_other),
        cmocka_unit_test(hosts_that_look_the_same_are_one),
        cmocka_unit_test(
            restarted_coordinator_shows_no_totals_before_all_have_told),
        cmocka_unit_test(worker_in_two_worlds_is_one_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
