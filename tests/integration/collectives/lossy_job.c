/* tests/integration/collectives/lossy_job.c - two-rank nodes with lossy
 * floats */

#include "integration/collectives/lossy_job.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"
#include "check.h"
#include "default_config.h"
#include "select/tuner.h"
#include "select/tuning.h"
#include "session/comm.h"

static struct tuner *tuner;
static struct roster *roster;

int
lossy_job_begin(struct rank *rank, enum codec_loss loss)
{
    struct config config;

    default_config_init(&config);
    snprintf(config.link, sizeof(config.link), "latency=20us");
    config.loss = rank->rank == 0 ? loss : LOSS_NONE;
    RANK_CHECK(roster_create(rank->size, &roster) == HOOP_OK);
    roster->rank = rank->rank;
    for (uint32_t i = 0; i < rank->size; i++)
        snprintf(roster->members[i].host_id, LIMIT_NAME, "node%u", i / 2);
    RANK_CHECK(tuner_create(roster, &config, &tuner) == HOOP_OK);
    /* The tested path may have set one. */
    tuning_destroy(rank->comm->tuning);
    rank->comm->tuning = NULL;
    RANK_CHECK(tuning_agree(tuner, rank->comm->context,
                            clock_deadline_ns(20000),
                            &rank->comm->tuning) == HOOP_OK);
    RANK_CHECK(tuning_codec_loss(rank->comm->tuning) == loss);
    return 0;
}

void
lossy_job_end(struct rank *rank)
{
    tuning_destroy(rank->comm->tuning);
    rank->comm->tuning = NULL;
    tuner_destroy(tuner);
    roster_destroy(roster);
}

int
lossy_job_require_alike(struct rank *rank, const void *bytes, size_t n_bytes)
{
    uint64_t mine = digest_bytes(bytes, n_bytes);
    uint64_t least;
    uint64_t most;

    RANK_CHECK(hoop_allreduce(&mine, &least, 1, HOOP_UINT64, HOOP_MIN,
                              rank->comm) == HOOP_OK);
    RANK_CHECK(hoop_allreduce(&mine, &most, 1, HOOP_UINT64, HOOP_MAX,
                              rank->comm) == HOOP_OK);
    RANK_CHECK(least == most);
    return 0;
}

void
lossy_job_run(rank_fn *body,
              const void *input,
              const char *codec,
              uint32_t largest)
{
    /* Eight ranks are slow under TSan. Five have the same races: they are on
     * three nodes, of which two are full, as with four ranks. */
#if defined(__SANITIZE_THREAD__)
    static const uint32_t sizes[] = {2, 3, 5};
#else
    static const uint32_t sizes[] = {2, 3, 4, 5, 8};
#endif

    for (size_t i = 0; i < COUNT_OF(sizes) && sizes[i] <= largest; i++)
        assert_int_equal(ranks_run(&(struct ranks_options){.size = sizes[i],
                                                           .body = body,
                                                           .input = input,
                                                           .codec = codec}),
                         0);
}
