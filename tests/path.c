/* tests/path.c - the way through the library that a test takes */

#include "path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/settings.h"
#include "check.h"
#include "transport/shm/negotiation.h"

static struct settings *
settings_of_worker(void)
{
    struct settings *settings = NULL;

    enum hoop_status status = settings_create(SETTING_USER_WORKER, &settings);
    if (status == HOOP_OK)
        status = settings_read_environment(settings);
    if (status != HOOP_OK)
        fail_msg("%s", error_text());
    return settings;
}

static bool
is_tuned(const struct settings *settings)
{
    const char *text = getenv("HOOP_TEST_TUNED");

    return text ? strcmp(text, "0") != 0
                : settings_number(settings, SETTING_TRANSPORT) == SHM_MODE_AUTO;
}

void
path_read(struct path *out_path)
{
    CLEANUP(settings_destroy) struct settings *settings = settings_of_worker();
    const char *algorithms = settings_text(settings, SETTING_ALGORITHM);
    const char *n_nodes = getenv("HOOP_TEST_NODES");

    *out_path = (struct path){
        .codec = (enum codec_id)settings_number(settings, SETTING_CODEC),
        .loss = (enum codec_loss)settings_number(settings, SETTING_WIRE_DTYPE),
        .checking =
            (enum engine_call_checking)settings_number(settings, SETTING_CHECK),
        .spinning =
            (enum engine_spinning)settings_number(settings, SETTING_DEBUG_SPIN),
        .n_nodes = n_nodes ? (uint32_t)strtoul(n_nodes, NULL, 10) : 0,
        .is_tuned = is_tuned(settings),
    };
    if (algorithms)
        snprintf(out_path->algorithms, sizeof(out_path->algorithms), "%s",
                 algorithms);
}

uint32_t
path_node(const struct path *path, uint32_t rank, uint32_t size)
{
    return path->n_nodes > 0 ? rank * path->n_nodes / size : 0;
}
