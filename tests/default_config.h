/* tests/default_config.h - a configuration in which no setting is set */

#ifndef TESTS_DEFAULT_CONFIG_H
#define TESTS_DEFAULT_CONFIG_H

#include <assert.h>

#include "base/cleanup.h"
#include "base/config.h"
#include "base/settings.h"

/* Set each setting to its default, and everything else to 0. The rank is 0,
 * too: only a join without a rank asks for any. */
static inline void
default_config_init(struct config *config)
{
    CLEANUP(settings_destroy) struct settings *settings = NULL;

    if (settings_create(SETTING_USER_WORKER, &settings) != HOOP_OK)
        assert(!"memory for the settings");
    config_init_from_settings(config, settings);
}

#endif
