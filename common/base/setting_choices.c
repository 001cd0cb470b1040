/* base/setting_choices.c - the choices of settings that have a fixed set */

#include "base/setting_choices.h"

#include <assert.h>
#include <stddef.h>

#include "base/limits.h"

/* In the order of enum log_level and enum log_format (base/log.h). */
const char *const setting_choices_log_levels[] = {
    "off", "error", "warning", "info", "debug", NULL,
};
const char *const setting_choices_log_formats[] = {"text", "json", NULL};

/* In the order of enum codec_id (codec/codec.h). */
const char *const setting_choices_codecs[] = {"none", "zstd", "planes", "auto",
                                              NULL};

/* In the order of enum codec_loss (codec/loss.h). */
const char *const setting_choices_wire_dtypes[] = {"none", "bf16", "fp16",
                                                   "int8", NULL};

/* In the order of enum engine_call_checking (engine/engine.h). */
const char *const setting_choices_checks[] = {"frames", "full", NULL};

/* In the order of enum comm_failure_policy (session/comm.h). */
const char *const setting_choices_remedies[] = {"error", "retry", NULL};

/* false, true */
const char *const setting_choices_switches[] = {"off", "on", NULL};

/* Odd indexes mean true. Also for settings that are options without a value. */
const char *const setting_choices_flags[] = {"off", "on", "0", "1", NULL};

/* In the order of enum shm_mode (transport/shm/negotiation.h). */
const char *const setting_choices_transports[] = {"auto", "tcp", "shm", NULL};

/* In the order of enum cma_mode (transport/shm/cma.h). */
const char *const setting_choices_attaching[] = {"auto", "off", "on", NULL};

_Static_assert(LIMIT_STREAMS == 8, "the greatest of these choices");
/* The index is the number of streams; auto is 0. */
const char *const setting_choices_streams[] = {
    "auto", "1", "2", "3", "4", "5", "6", "7", "8", NULL,
};

/* In the order of enum engine_spinning (engine/engine.h). */
const char *const setting_choices_spins[] = {"auto", "never", "always", NULL};

/* In the order of enum hoop_durability (hoop/coordinator.h). */
const char *const setting_choices_durabilities[] = {"disk", "process", "memory",
                                                    NULL};
