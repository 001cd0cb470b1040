/* diagnosis/diagnosis.c - says in one sentence what holds a job up */

#include "diagnosis/diagnosis.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnosis/findings.h"

/*
 * The first rule whose predicate holds makes the verdict. In a template,
 *   {culprit}, {other}   are "rank 2 (host:pid)"
 *   {pid}, {host}        are the culprit's; {host2} is the other's
 *   {reason}             says why the culprit is lost
 *   {sign}               is the time since the culprit's last sign of life
 *   {failure}            is the text of its last failed call
 *   {waiter}             is the name of a rank that waits
 *   {waits}              says who waits, in which call and for how long:
 *                        "rank 0 (a:7) waits in ... for 3.0 s"
 *   {age}                is the age of the job or the time since its end
 *   {n}, {size}          are the members that are there, and the size
 *   {place}              is where the culprit's program is: "train.py:41 in
 *                        load, called from train.py:88 in main"
 *   {detail}             is what the predicate says
 */
struct rule {
    const char *kind;
    finding_fn *holds;
    const char *sentence;
    const char *advice;
};

#define LEAVE_NO_DEBUGGER                                                      \
    "Leave no debugger attached: a process that is stopped for "               \
    "HOOP_FAILURE_TIMEOUT is declared lost."

static const struct rule rules[] = {
    {"missing", finding_missing_at_join,
     "The job waits for {detail} to join; {n} of {size} have come in {age}.",
     "Look whether those that are missing were started, and at their output: a "
     "worker that cannot reach hoopd says so."},
    {"forming", finding_forming,
     "The job is forming; {n} have come in {age}, and nobody is known to be "
     "missing.",
     ""},
    {"ended-lost", finding_ended_after_stop,
     "The job ended {age} ago, and {culprit} was lost first: {reason}.",
     "Find out who stopped process {pid} on {host}: a signal, a debugger or a "
     "batch system. What the others report follows from that."},
    {"ended-lost", finding_ended_after_loss,
     "The job ended {age} ago, and {culprit} was lost first: {reason}.",
     "Read the output of that process first; what the others report follows "
     "from its end."},
    {"ended-failed", finding_ended_after_failure,
     "The job ended {age} ago, after a call of {culprit} had failed: "
     "{failure}.",
     "Read what the ranks said of their last calls, which hoopctl why lists, "
     "and their output."},
    {"ended", finding_ended, "The job ended {age} ago: {detail}.", ""},
    {"mismatch", finding_mismatch,
     "The ranks call different things: {failure}.",
     "Look at what leads to the two calls: all ranks of a communicator must "
     "make the same calls in the same order."},
    {"stopped", finding_stopped,
     "{culprit} is stopped by a signal or a debugger{waits}.",
     "Find out who stopped it, or continue it: kill -CONT {pid} on {host}."},
    {"process-ended", finding_process_ended,
     "The process of {culprit} has ended, which its peers have not reported "
     "yet{waits}.",
     "Read its output on {host}."},
    {"uninterruptible", finding_uninterruptible,
     "{culprit} sleeps uninterruptibly{detail}{waits}.",
     "Look at the disk or network file system that process {pid} uses on "
     "{host}, at its free memory, and at the kernel's log."},
    {"link-one-way", finding_link_one_way,
     "{other} does not hear {culprit}, which hears it: data pass in one "
     "direction only{waits}.",
     "Look at the network from {host} to {host2} and at its firewalls: hoopctl "
     "doctor --peer tries both directions."},
    {"link", finding_link_both_ways,
     "{other} and {culprit} do not hear each other, but both answer "
     "hoopd{waits}.",
     "Look at the network between {host2} and {host}: hoopctl doctor --peer "
     "tries both directions."},
    {"link", finding_link_silent,
     "{other} does not hear {culprit}, but both answer hoopd{waits}.",
     "Look at the network between {host2} and {host}: hoopctl doctor --peer "
     "tries both directions."},
    {"lost", finding_all_silent_after_loss,
     "{culprit} is lost: {reason}; none of the others answers hoopd any more.",
     "Read the output of that process first, and then of the others, which "
     "may have ended of its loss."},
    {"all-silent", finding_all_silent,
     "No rank answers hoopd, which last heard of {culprit} {sign} ago: they "
     "have ended without a word, or hoopd is cut off from them.",
     "Look whether their processes run, and at their output."},
    {"silent", finding_silent,
     "{culprit} does not answer hoopd, which last heard of it {sign} ago: it "
     "is frozen, or {host} is cut off{waits}.",
     "Look on {host} whether process {pid} runs."},
    {"half-joined", finding_half_joined,
     "A communicator is half joined: {detail} has not called to create "
     "it{waits}.",
     "Look at what {culprit} does instead: all members of a communicator must "
     "create it, in the same order."},
    {"deadlock", finding_deadlock_of_tags,
     "Ranks wait for each other in different calls: {detail}.",
     "Compare the tags of that receive and of the sends to it."},
    {"deadlock", finding_deadlock_of_communicators,
     "Ranks wait for each other in different calls: {detail}.",
     "Use the communicators in the same order on all ranks, or start the first "
     "call without waiting for it; hoopctl groups JOB lists their ranks."},
    {"deadlock", finding_deadlock,
     "Ranks wait for each other in different calls: {detail}.",
     "Make the ranks call in an order in which each call finds its peers, or "
     "start the first call without waiting for it."},
    {"calls-alone", finding_calls_alone,
     "Only {waiter} has made its call, and the {detail} others are in no call "
     "of hoop, {culprit} among them{waits}.",
     "Look whether {waiter} calls more often than the others, as by a longer "
     "loop, or what keeps these: hoopctl why lists what each rank has "
     "finished, "
     "and where its program is."},
    {"computes", finding_computes_at,
     "{culprit} is in no call of hoop and computes: {place}{waits}.",
     "Look what it computes there, and whether it has more to do than others; "
     "hoopctl why shows its stack."},
    {"computes", finding_computes,
     "{culprit} is in no call of hoop and computes{detail}{waits}.",
     "Look what it computes, and whether it has more to do than others: "
     "py-spy dump --pid {pid}, or gdb -p {pid} -batch -ex bt, on "
     "{host}. " LEAVE_NO_DEBUGGER},
    {"never-calls", finding_never_calls_at,
     "{culprit} is in no call of hoop{detail}: {place}{waits}.",
     "Look what its program waits for there; hoopctl why shows its stack."},
    {"never-calls", finding_never_calls,
     "{culprit} is in no call of hoop{detail}{waits}.",
     "Look where its program waits: py-spy dump --pid {pid}, or gdb -p {pid} "
     "-batch -ex bt, on {host}. " LEAVE_NO_DEBUGGER},
    {"slow-link", finding_slow_link,
     "Data move slowly between {culprit} and {other}: {detail}{waits}.",
     "Look at the network between {host} and {host2}, and whether others use "
     "it; hoop-perf measures it."},
    {"waits", finding_waits, "The job waits for {detail}{waits}.",
     "Look at {culprit} on {host}."},
    {"waits", finding_waits_for_any, "The job waits for {detail}{waits}.",
     "Look at the ranks that could end the wait: each rank says below what it "
     "is in."},
    {"lost", finding_lost_by_stop, "{culprit} is lost: {reason}{waits}.",
     "Find out who stopped process {pid} on {host}: a signal, a debugger or a "
     "batch system. The others go on if they shrink the job, and end "
     "otherwise."},
    {"lost", finding_lost, "{culprit} is lost: {reason}{waits}.",
     "Read the output of that process; the others go on if they shrink the "
     "job, and end otherwise."},
    {"slow-rank", finding_holds_up,
     "Nothing is stuck, but {other} waited {detail} for {culprit} to call.",
     "Look whether {culprit} has more to compute, or less of a processor, than "
     "the others."},
    {"slow-link", finding_slow_link_lately,
     "Nothing is stuck, but data move slowly between {culprit} and {other}: "
     "{waiter} waited {detail} for bytes.",
     "Look at the network between {host} and {host2}, and whether others use "
     "it; hoop-perf measures it."},
    {"moving", finding_moves, "Nothing is stuck: {detail}.", ""},
};

static size_t
text_append(char *text, size_t n, const char *more)
{
    const int n_more = snprintf(text + n, LIMIT_ERROR_TEXT - n, "%s", more);
    const size_t n_all = n + (size_t)(n_more > 0 ? n_more : 0);

    return n_all < LIMIT_ERROR_TEXT ? n_all : LIMIT_ERROR_TEXT - 1;
}

static void
seconds_describe(uint64_t n_ms, char text[LIMIT_ERROR_TEXT])
{
    if (n_ms == SNAPSHOT_NO_TIME)
        snprintf(text, LIMIT_ERROR_TEXT, "an unknown time");
    else
        snprintf(text, LIMIT_ERROR_TEXT, "%.1f s", (double)n_ms / 1000);
}

/* "; rank 0 (a:7) and 2 others wait, in allreduce #1 of 'world' for 3.0 s" */
static void
waits_describe(const struct finding *finding, char text[LIMIT_ERROR_TEXT])
{
    const struct snapshot_rank *waiter = finding->waiter;
    char name[FINDING_NAME_MAX];
    char communicator[FINDING_COMMUNICATOR_MAX];
    char others[48] = "";

    text[0] = '\0';
    if (!waiter)
        return;
    finding_rank_name(waiter, name);
    finding_communicator_name(&waiter->call, communicator);
    if (finding->n_waiters > 1)
        snprintf(others, sizeof(others), " and %" PRIu32 " other%s",
                 finding->n_waiters - 1, finding->n_waiters > 2 ? "s" : "");
    snprintf(text, LIMIT_ERROR_TEXT, "; %s%s wait%s in %.180s%s for %.1f s",
             name, others, others[0] ? "" : "s", waiter->call.text,
             communicator, (double)waiter->call.age_ms / 1000);
}

static bool
is_name(const char *name, size_t n, const char *wanted)
{
    return strlen(wanted) == n && memcmp(name, wanted, n) == 0;
}

/* Write the value of a placeholder that is about a rank. */
static void
rank_value_write(const struct finding *finding,
                 const char *name,
                 size_t n,
                 char text[LIMIT_ERROR_TEXT])
{
    static const struct snapshot_rank nobody = {
        .rank = SNAPSHOT_NO_RANK, .host = "", .reason = "", .failure = ""};
    const struct snapshot_rank *culprit =
        finding->culprit ? finding->culprit : &nobody;
    const struct snapshot_rank *other =
        finding->other ? finding->other : &nobody;

    if (is_name(name, n, "culprit"))
        finding_rank_name(culprit, text);
    else if (is_name(name, n, "other"))
        finding_rank_name(other, text);
    else if (is_name(name, n, "waiter"))
        finding_rank_name(finding->waiter ? finding->waiter : &nobody, text);
    else if (is_name(name, n, "pid"))
        snprintf(text, LIMIT_ERROR_TEXT, "%" PRIu32, culprit->pid);
    else if (is_name(name, n, "host"))
        snprintf(text, LIMIT_ERROR_TEXT, "%s", culprit->host);
    else if (is_name(name, n, "host2"))
        snprintf(text, LIMIT_ERROR_TEXT, "%s", other->host);
    else if (is_name(name, n, "reason"))
        snprintf(text, LIMIT_ERROR_TEXT, "%.400s", culprit->reason);
    else if (is_name(name, n, "failure"))
        snprintf(text, LIMIT_ERROR_TEXT, "%.700s", culprit->failure);
    else if (is_name(name, n, "sign"))
        seconds_describe(culprit->last_sign_ms, text);
}

static void
value_write(const struct snapshot *snapshot,
            const struct finding *finding,
            const char *name,
            size_t n,
            char text[LIMIT_ERROR_TEXT])
{
    text[0] = '\0';
    if (is_name(name, n, "waits"))
        waits_describe(finding, text);
    else if (is_name(name, n, "age"))
        seconds_describe(snapshot->age_ms, text);
    else if (is_name(name, n, "n"))
        snprintf(text, LIMIT_ERROR_TEXT, "%" PRIu32, snapshot->n_members);
    else if (is_name(name, n, "size"))
        snprintf(text, LIMIT_ERROR_TEXT, "%" PRIu32, snapshot->size);
    else if (is_name(name, n, "place"))
        snprintf(text, LIMIT_ERROR_TEXT, "%s", finding->place);
    else if (is_name(name, n, "detail"))
        snprintf(text, LIMIT_ERROR_TEXT, "%s", finding->detail);
    else
        rank_value_write(finding, name, n, text);
}

/* Write the template with its placeholders replaced, and a capital letter at
 * its beginning. */
static void
template_expand(const struct snapshot *snapshot,
                const struct finding *finding,
                const char *template,
                char out_text[LIMIT_ERROR_TEXT])
{
    char value[LIMIT_ERROR_TEXT];
    size_t n = 0;

    out_text[0] = '\0';
    while (*template) {
        const char *end = *template == '{' ? strchr(template, '}') : NULL;

        if (end) {
            value_write(snapshot, finding, template + 1,
                        (size_t)(end - template - 1), value);
            template = end + 1;
        } else {
            snprintf(value, sizeof(value), "%c", *template ++);
        }
        n = text_append(out_text, n, value);
    }
    if (strncmp(out_text, "rank ", 5) == 0)
        out_text[0] = 'R';
}

void
diagnosis_make(const struct snapshot *snapshot, struct verdict *out_verdict)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        struct finding finding = {0};

        if (!rules[i].holds(snapshot, &finding))
            continue;
        out_verdict->kind = rules[i].kind;
        /* There is something to look at. */
        out_verdict->is_held_up = rules[i].advice[0] != '\0';
        template_expand(snapshot, &finding, rules[i].sentence,
                        out_verdict->sentence);
        template_expand(snapshot, &finding, rules[i].advice,
                        out_verdict->advice);
        out_verdict->n_culprits = finding.n_culprits;
        memcpy(out_verdict->culprits, finding.culprits,
               sizeof(finding.culprits));
        return;
    }
}

/* What qsort_r() compares. */
struct ordering {
    const struct snapshot *snapshot;
    const struct verdict *verdict;
};

/* Return how far the rank is in front of the list: those that hold the job up,
 * those that are silent, those that are in no call, those in a call, and those
 * that are gone. */
static unsigned
rank_group(const struct ordering *ordering, const struct snapshot_rank *rank)
{
    for (size_t i = 0; i < ordering->verdict->n_culprits; i++) {
        if (ordering->verdict->culprits[i] == rank->rank)
            return 0;
    }
    if (rank->state == SNAPSHOT_LOST)
        return 1;
    if (rank->state == SNAPSHOT_LEFT)
        return 5;
    if (rank->was_asked && !rank->has_answered)
        return 2;
    return rank->call.text[0] ? 4 : 3;
}

/* Ranks that have waited about equally long answer at slightly different
 * moments; whoever looks each second sees them in the same places. */
static unsigned
age_scale(uint64_t age_ms)
{
    unsigned scale = 0;

    while (age_ms >>= 1)
        scale++;
    return scale;
}

static int
rank_compare(const void *left, const void *right, void *owner)
{
    const struct ordering *ordering = owner;
    const uint32_t at = *(const uint32_t *)left;
    const uint32_t at_other = *(const uint32_t *)right;
    const struct snapshot_rank *rank = &ordering->snapshot->ranks[at];
    const struct snapshot_rank *other = &ordering->snapshot->ranks[at_other];
    const unsigned group = rank_group(ordering, rank);
    const unsigned other_group = rank_group(ordering, other);

    if (group != other_group)
        return group < other_group ? -1 : 1;
    if (rank->call.number != other->call.number)
        return rank->call.number < other->call.number ? -1 : 1;
    const unsigned scale = age_scale(rank->call.age_ms);
    const unsigned other_scale = age_scale(other->call.age_ms);

    if (scale != other_scale)
        return scale > other_scale ? -1 : 1;
    return at < at_other ? -1 : at > at_other;
}

void
diagnosis_order(const struct snapshot *snapshot,
                const struct verdict *verdict,
                uint32_t *out_order)
{
    struct ordering ordering = {snapshot, verdict};

    for (size_t i = 0; i < snapshot->n_ranks; i++)
        out_order[i] = (uint32_t)i;
    qsort_r(out_order, snapshot->n_ranks, sizeof(*out_order), rank_compare,
            &ordering);
}
