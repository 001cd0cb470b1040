/* tests/unit/server/service/archive_test.c - a core and its answers, kept */

#include "check.h"
/* after cmocka */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "core/cluster.h"
#include "net/loop.h"
#include "rpc/reply_cache.h"
#include "service/archive.h"
#include "storage/storage.h"
#include "temporary.h"

static const struct reply_cache_bounds bounds = {8, 8, 65536};
static const struct reply_cache_key request = {.client = {{1}}, .id = 7};

struct coordinator {
    struct loop *loop;
    struct storage *storage;
    struct cluster *cluster;
    struct reply_cache *replies;
};

static void
on_durable(void *owner, uint64_t number)
{
}

static void
coordinator_open(struct coordinator *coordinator, const char *folder)
{
    const struct cluster_options options = {
        .keeps_records = true,
        .now_ns = clock_now_ns(),
    };

    assert_ok(loop_create(&coordinator->loop));
    assert_ok(storage_open(&(struct storage_options){.loop = coordinator->loop,
                                                     .folder = folder,
                                                     .on_durable = on_durable},
                           &coordinator->storage));
    assert_ok(cluster_create(&options, &coordinator->cluster));
    assert_ok(reply_cache_create(&bounds, &coordinator->replies));
}

static void
coordinator_close(struct coordinator *coordinator)
{
    storage_close(coordinator->storage);
    cluster_destroy(coordinator->cluster);
    reply_cache_destroy(coordinator->replies);
    loop_destroy(coordinator->loop);
}

static void
folder_remove(const char *folder)
{
    char path[TEMPORARY_FILE];

    snprintf(path, sizeof(path), "%s/hoopd.mdb", folder);
    unlink(path);
    snprintf(path, sizeof(path), "%s/hoopd.lock", folder);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

static size_t
members(struct cluster *cluster)
{
    return (size_t)cluster_counters(cluster)->members;
}

static void
cluster_join(struct coordinator *coordinator)
{
    const struct cluster_event event = {
        .kind = CLUSTER_JOIN,
        .now_ns = clock_now_ns(),
        .ticket = 1,
        .deadline_ns = UINT64_MAX,
        .job = "a",
        .join = {.incarnation = 5,
                 .protocol_version = CLUSTER_PROTOCOL_VERSION,
                 .rank = CLUSTER_RANK_ANY,
                 .world_size = 1,
                 .host = "h",
                 .address = "h:1"},
    };
    const struct cluster_actions actions =
        cluster_step(coordinator->cluster, &event);

    archive_store_step_records(coordinator->storage, &actions);
}

static void
core_and_answers_come_back(void **state)
{
    static const uint8_t reply[] = "answer";
    char folder[TEMPORARY_PATH] = "hoop-archive.XXXXXX";
    struct coordinator coordinator;
    struct reply_cache_found found = {0};
    int running = 0;

    assert_non_null(temporary_folder(folder, sizeof(folder)));
    coordinator_open(&coordinator, folder);
    assert_ok(
        archive_restore_cluster(coordinator.storage, coordinator.cluster));
    assert_ok(
        archive_restore_replies(coordinator.storage, coordinator.replies));
    cluster_join(&coordinator);
    assert_int_equal(
        reply_cache_begin(coordinator.replies, &request, &running, &found),
        REPLY_CACHE_NEW);
    reply_cache_store_reply(coordinator.replies, &request,
                            (struct message_span){reply, sizeof(reply)});
    storage_commit(coordinator.storage);
    coordinator_close(&coordinator);

    coordinator_open(&coordinator, folder);
    assert_ok(
        archive_restore_cluster(coordinator.storage, coordinator.cluster));
    assert_ok(
        archive_restore_replies(coordinator.storage, coordinator.replies));
    assert_int_equal(members(coordinator.cluster), 1);
    assert_int_equal(
        reply_cache_begin(coordinator.replies, &request, &running, &found),
        REPLY_CACHE_DONE);
    assert_string_equal((const char *)found.reply.bytes, "answer");
    coordinator_close(&coordinator);
    folder_remove(folder);
}

static void
records_that_fit_nothing_are_refused(void **state)
{
    char folder[TEMPORARY_PATH] = "hoop-archive.XXXXXX";
    struct coordinator coordinator;

    assert_non_null(temporary_folder(folder, sizeof(folder)));
    coordinator_open(&coordinator, folder);
    storage_put(coordinator.storage, STORAGE_OWNER_CORE,
                (struct storage_span){"?", 1}, (struct storage_span){"?", 1});
    storage_put(coordinator.storage, STORAGE_OWNER_REPLIES,
                (struct storage_span){"?", 1}, (struct storage_span){"?", 1});
    storage_commit(coordinator.storage);
    coordinator_close(&coordinator);

    coordinator_open(&coordinator, folder);
    assert_int_equal(
        archive_restore_cluster(coordinator.storage, coordinator.cluster),
        HOOP_E_DATA_LOSS);
    assert_non_null(strstr(error_text(), "--data-dir"));
    assert_int_equal(
        archive_restore_replies(coordinator.storage, coordinator.replies),
        HOOP_E_DATA_LOSS);
    coordinator_close(&coordinator);
    folder_remove(folder);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(core_and_answers_come_back),
        cmocka_unit_test(records_that_fit_nothing_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
