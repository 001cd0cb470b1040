/* fault/fault.c - faults for tests: HOOP_DEBUG_FAULT, in builds with
 * -Dfaults */

#include "fault/fault.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/limits.h"

struct faults {
    pthread_mutex_t lock;
    struct fault_rule rules[LIMIT_FAULTS];
    unsigned n_rules;
};

DEFINE_CLEANUP(struct faults *, faults_destroy)

_Static_assert(LIMIT_FAULTS <= 32, "one bit for each");

/* Check the rules of other ranks too, but do not keep them. Only a worker knows
 * the operations of workers, and the coordinator its calls. */
static enum hoop_status
rule_add(struct faults *faults,
         const struct fault_rule *rule,
         uint32_t rank,
         bool (*knows_op)(const char *name))
{
    const bool is_alike =
        (rule->rank == FAULT_COORDINATOR) == (rank == FAULT_COORDINATOR);

    if (is_alike && rule->op[0] && !knows_op(rule->op))
        return error_raise(HOOP_E_INVALID, "there is no operation '%s'",
                           rule->op);
    if (!is_alike || (rule->rank != FAULT_ANY_RANK && rule->rank != rank))
        return HOOP_OK;
    if (faults->n_rules == LIMIT_FAULTS)
        return error_raise(HOOP_E_INVALID, "%d for one rank are the most",
                           LIMIT_FAULTS);
    faults->rules[faults->n_rules] = *rule;
    fault_rule_settle_on(&faults->rules[faults->n_rules++], rank);
    return HOOP_OK;
}

static enum hoop_status
rules_read(struct faults *faults,
           const char *text,
           uint32_t rank,
           bool (*knows_op)(const char *name))
{
    unsigned n_read = 0;

    for (const char *at = text; at; n_read++) {
        const char *end = strchrnul(at, ';');
        struct fault_rule rule;
        enum hoop_status status =
            fault_rule_parse(at, (size_t)(end - at), &rule);

        if (status == HOOP_OK)
            status = rule_add(faults, &rule, rank, knows_op);
        if (status != HOOP_OK) {
            char why[LIMIT_ERROR_TEXT / 2];

            snprintf(why, sizeof(why), "%s", error_text());
            return error_raise(status, "HOOP_DEBUG_FAULT, rule %u: %s",
                               n_read + 1, why);
        }
        at = *end ? end + 1 : NULL;
    }
    return HOOP_OK;
}

enum hoop_status
faults_parse(const char *text,
             uint32_t rank,
             bool (*knows_op)(const char *name),
             struct faults **out_faults)
{
    CLEANUP(faults_destroy) struct faults *faults = NULL;

    *out_faults = NULL;
    if (!text || !text[0])
        return HOOP_OK;
    faults = calloc(1, sizeof(*faults));
    if (!faults)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for faults");
    pthread_mutex_init(&faults->lock, NULL);
    const enum hoop_status status = rules_read(faults, text, rank, knows_op);
    if (status != HOOP_OK)
        return error_pass(status);
    if (faults->n_rules > 0)
        *out_faults = STEAL(faults);
    return HOOP_OK;
}

enum hoop_status
faults_create(const char *text,
              uint32_t rank,
              bool (*knows_op)(const char *name),
              struct faults **out_faults)
{
    const char *former = getenv("HOOP_FAULT");

    if (!text || !text[0])
        text = getenv("HOOP_DEBUG_FAULT");

    *out_faults = NULL;
    if (former && former[0])
        return error_raise(HOOP_E_INVALID,
                           "HOOP_FAULT is named HOOP_DEBUG_FAULT now");
    if (!FAULT_IS_BUILT && text && text[0])
        return error_raise(HOOP_E_INVALID,
                           "HOOP_DEBUG_FAULT is set, but this build has no "
                           "faults: unset it, or build with -Dfaults=enabled");
    return faults_parse(text, rank, knows_op, out_faults);
}

void
faults_destroy(struct faults *faults)
{
    if (!faults)
        return;
    pthread_mutex_destroy(&faults->lock);
    free(faults);
}

static void
delay(uint64_t n_ns)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    struct timespec left = {
        .tv_sec = (time_t)(n_ns / CLOCK_NS_PER_S),
        .tv_nsec = (long)(n_ns % CLOCK_NS_PER_S),
    };

    while (nanosleep(&left, &left) != 0)
        continue;
}

/* Tell the test when the rule applied, and with which peer. */
static void
note(int fd, uint32_t peer)
{
    const struct fault_note note = {clock_now_ns(), peer};

    if (fd >= 0 && write(fd, &note, sizeof(note)) < 0)
        return;
}

/* Apply what concerns this process; the rest is left to the caller. */
static void
effect_apply(const struct fault_effect *effect)
{
    switch (effect->action) {
    case FAULT_KILL:
        kill(getpid(), SIGKILL);
        return;
    case FAULT_STOP:
        kill(getpid(), SIGSTOP);
        return;
    case FAULT_EXIT:
        _exit((int)effect->amount);
    case FAULT_DELAY:
    case FAULT_JITTER:
        if (effect->amount > 0)
            delay(effect->amount);
        return;
    case FAULT_NOTHING:
    case FAULT_RESET:
    case FAULT_HALF_CLOSE:
    case FAULT_DROP:
    case FAULT_CORRUPT:
    case FAULT_TRUNCATE:
    case FAULT_DUPLICATE:
    case FAULT_UNPLUG:
    case FAULT_ACTIONS:
        return;
    }
}

struct fault_effect
faults_trigger(struct faults *faults,
               uint32_t rules,
               const struct fault_event *event)
{
    struct fault_effect effect = {.action = FAULT_NOTHING};
    struct fault_effect jitter = {.action = FAULT_JITTER};
    int note_fd = -1;
    int jitter_fd = -1;

    pthread_mutex_lock(&faults->lock);
    for (unsigned i = 0; i < faults->n_rules; i++) {
        struct fault_rule *rule = &faults->rules[i];
        const bool is_jitter = rule->action == FAULT_JITTER;

        /* All rules count, but only one applies, plus jitter. */
        if (!(rules & 1u << i) ||
            (!is_jitter && effect.action != FAULT_NOTHING &&
             fault_rule_is_due(rule, event)))
            continue;
        if (!fault_rule_strikes(rule, event))
            continue;
        if (is_jitter) {
            jitter.amount += fault_rule_jitter_ns(rule, event);
            jitter_fd = rule->note_fd;
        } else {
            effect = (struct fault_effect){rule->action, rule->amount};
            note_fd = rule->note_fd;
        }
    }
    pthread_mutex_unlock(&faults->lock);
    note(jitter_fd, event->peer);
    effect_apply(&jitter);
    note(note_fd, event->peer);
    effect_apply(&effect);
    return effect;
}

bool
faults_are_due(struct faults *faults,
               uint32_t rules,
               const struct fault_event *event)
{
    bool are_due = false;

    pthread_mutex_lock(&faults->lock);
    for (unsigned i = 0; i < faults->n_rules; i++)
        are_due |=
            (rules & 1u << i) && fault_rule_is_due(&faults->rules[i], event);
    pthread_mutex_unlock(&faults->lock);
    return are_due;
}

uint32_t
faults_begin(struct faults *faults, const char *op)
{
    const struct fault_event event = {.point = FAULT_AT_BEGIN,
                                      .peer = FAULT_ANY_RANK};
    uint32_t rules = 0;

    pthread_mutex_lock(&faults->lock);
    for (unsigned i = 0; i < faults->n_rules; i++) {
        if (fault_rule_begin(&faults->rules[i], op))
            rules |= 1u << i;
    }
    pthread_mutex_unlock(&faults->lock);
    if (rules)
        faults_trigger(faults, rules, &event);
    return rules;
}
