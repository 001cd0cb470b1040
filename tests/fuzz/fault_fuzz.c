/* tests/fuzz/fault_fuzz.c - any HOOP_DEBUG_FAULT is refused with a place, or
 * makes rules that strike once at most */

#include <string.h>

#include "base/error.h"
#include "fault/fault_rule.h"
#include "fuzz/fuzz.h"

/* Everything that can happen, twice. */
static unsigned
strikes_of(struct fault_rule *rule)
{
    unsigned n_strikes = 0;

    for (unsigned i = 0; i < 2 * FAULT_POINTS * 8; i++) {
        const struct fault_event event = {
            .point = (enum fault_point)(i % FAULT_POINTS),
            .peer = i / FAULT_POINTS % 2,
            .round = 1 + i / FAULT_POINTS / 2 % 2,
            .is_frame = i / FAULT_POINTS / 4 % 2,
        };
        const bool is_due = fault_rule_is_due(rule, &event);

        fuzz_require(is_due == fault_rule_strikes(rule, &event));
        n_strikes += is_due;
    }
    return n_strikes;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct fault_rule rule;
    const enum hoop_status status =
        fault_rule_parse((const char *)bytes, n_bytes, &rule);

    if (status != HOOP_OK) {
        fuzz_require(status == HOOP_E_INVALID);
        fuzz_require(error_text()[0] != '\0');
        return 0;
    }
    fuzz_require(rule.action > FAULT_NOTHING && rule.action < FAULT_ACTIONS);
    fuzz_require(rule.at < FAULT_POINTS);
    fuzz_require(memchr(rule.op, '\0', sizeof(rule.op)) != NULL);
    fuzz_require(!fault_action_tampers(rule.action) ||
                 rule.at == FAULT_AT_SEND || rule.rank == FAULT_COORDINATOR);
    fuzz_require(rule.rank != FAULT_COORDINATOR ||
                 (rule.at != FAULT_AT_RECEIVE && rule.round == 0));
    const bool is_about = fault_rule_begin(&rule, "allreduce");
    fuzz_require(!is_about || rule.seq <= 1);
    fuzz_require(strikes_of(&rule) <= 1);
    return 0;
}
