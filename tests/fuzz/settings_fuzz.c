/*
 * tests/fuzz/settings_fuzz.c - any file is refused with a place, or taken
 *
 * What was taken lies within the bounds of its row, and its text, read again,
 * gives the same number.
 */

#include <string.h>

#include "base/error.h"
#include "base/settings.h"
#include "fuzz/fuzz.h"

static void
require_within_bounds(const struct settings *settings, enum setting_id id)
{
    const struct setting *setting = setting_row(id);
    const char *text = settings_text(settings, id);
    uint64_t number = 0;

    if (!text)
        return;
    fuzz_require(*text);
    fuzz_require(setting_parse(setting,
                               &(struct setting_input){
                                   .origin = SETTING_FROM_CALLER,
                                   .where = "again",
                                   .text = text,
                               },
                               &number) == HOOP_OK);
    fuzz_require(number == settings_number(settings, id));
    if (setting->type == SETTING_TYPE_UINT ||
        setting->type == SETTING_TYPE_DURATION)
        fuzz_require(number >= setting->min && number <= setting->max);
}

static void
require_refused_with_a_place(enum hoop_status status)
{
    fuzz_require(status == HOOP_E_INVALID);
    fuzz_require(strncmp(error_text(), "fuzz.conf:", 10) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    static const enum setting_user users[] = {
        SETTING_USER_WORKER,
        SETTING_USER_HOOPD,
    };

    for (size_t i = 0; i < COUNT_OF(users); i++) {
        CLEANUP(settings_destroy) struct settings *settings = NULL;

        fuzz_require(settings_create(users[i], &settings) == HOOP_OK);
        const enum hoop_status status = settings_read_text(
            settings, "fuzz.conf", (const char *)bytes, n_bytes);
        if (status != HOOP_OK)
            require_refused_with_a_place(status);
        for (size_t id = 0; id < SETTING_COUNT; id++)
            require_within_bounds(settings, (enum setting_id)id);
    }
    return 0;
}
