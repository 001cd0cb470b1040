/*
 * tests/fuzz/revival_fuzz.c - any records are refused, or make a cluster
 *
 * A byte says how long a key is, two how long its value; then both follow. A
 * cluster that could be made lives on for an hour.
 */

#include "base/cleanup.h"
#include "core/cluster.h"
#include "fuzz/fuzz.h"

enum {
    HEAD = 3,
    STEPS = 1000,
};

static const uint64_t NOW_NS = 3600ULL * 1000000000;

static enum hoop_status
records_read(struct cluster *cluster, const uint8_t *bytes, size_t n_bytes)
{
    while (n_bytes >= HEAD) {
        const size_t n_key_bytes = bytes[0];
        const size_t n_value_bytes = (size_t)bytes[1] << 8 | bytes[2];

        if (n_bytes - HEAD < n_key_bytes + n_value_bytes)
            break;

        const enum hoop_status status = cluster_recover_record(
            cluster, &(struct cluster_journal_record){
                         .key = bytes + HEAD,
                         .n_key_bytes = n_key_bytes,
                         .value = bytes + HEAD + n_key_bytes,
                         .n_value_bytes = n_value_bytes});
        if (status != HOOP_OK)
            return status;
        bytes += HEAD + n_key_bytes + n_value_bytes;
        n_bytes -= HEAD + n_key_bytes + n_value_bytes;
    }
    return cluster_recovery_finish(cluster);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    const struct cluster_options options = {
        .keeps_records = true,
        .now_ns = NOW_NS,
        .wall_offset_ns = NOW_NS,
    };
    struct cluster *cluster = NULL;

    fuzz_require(cluster_create(&options, &cluster) == HOOP_OK);
    if (records_read(cluster, bytes, n_bytes) == HOOP_OK) {
        struct cluster_event tick = {.kind = CLUSTER_TICK, .now_ns = NOW_NS};

        for (int step = 0; step < STEPS; step++) {
            cluster_step(cluster, &tick);
            if (cluster_next_deadline_ns(cluster) > 2 * NOW_NS)
                break;
            tick.now_ns = cluster_next_deadline_ns(cluster);
        }
    }
    cluster_destroy(cluster);
    return 0;
}
