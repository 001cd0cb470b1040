/* engine/failure/lost_rank.c - says why a rank is lost, here and to other
 * ranks */

#include "engine/failure/lost_rank.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/evidence.h"
#include "engine/failure/failure_notice.h"

enum hoop_status
lost_rank_status(const struct engine *engine, uint32_t rank)
{
    return engine->liveness.ranks[rank].has_given_up ? HOOP_E_RANK_FAILED
                                                     : HOOP_E_PEER_LOST;
}

struct frame
lost_rank_frame(const struct engine *engine, uint32_t rank)
{
    return (struct frame){
        .kind = FRAME_FAILURE_NOTICE,
        .epoch = engine->roster->epoch,
        .comm = FAILURE_COMM_ID_OF_LOST_RANK,
        .op = rank,
        .signature = engine->roster->members[rank].incarnation,
        .tag = lost_rank_status(engine, rank),
    };
}

static const char ellipsis[] = " ...";

/* Returns how many of the first n_room bytes of what to keep: whole words, or
 * all of them if it is one word. Punctuation before the ellipsis is dropped. */
static size_t
text_whole_words_prefix_bytes(const char *what, size_t n_room)
{
    static const char gaps[] = " ,;:(";
    size_t n = n_room;

    while (n > 0 && what[n] != ' ')
        n--;
    while (n > 0 && strchr(gaps, what[n - 1]))
        n--;
    return n > 0 ? n : n_room;
}

void
reason_write_truncated(const char *what,
                       const char *tail,
                       char out[LOST_REASON_TEXT_MAX])
{
    const size_t n_tail = strlen(tail);
    const size_t n_what = strlen(what);

    assert(n_tail + sizeof(ellipsis) <= LOST_REASON_TEXT_MAX);
    if (n_what + n_tail < LOST_REASON_TEXT_MAX) {
        memmove(out, what, n_what);
        memcpy(out + n_what, tail, n_tail + 1);
        return;
    }
    const size_t n_kept = text_whole_words_prefix_bytes(
        what, LOST_REASON_TEXT_MAX - n_tail - sizeof(ellipsis));
    memmove(out, what, n_kept);
    memcpy(out + n_kept, ellipsis, sizeof(ellipsis) - 1);
    memcpy(out + n_kept + sizeof(ellipsis) - 1, tail, n_tail + 1);
}

static void
time_format_utc(char text[32])
{
    struct timespec now;
    struct tm parts;
    char seconds[24];

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text, 32, "%s.%03dZ", seconds, (int)(now.tv_nsec / 1000000));
}

static const char EXPELLED_PREFIX[] = "this rank was declared lost by ";
/* Followed by what the rank said itself. */
static const char GIVEN_UP[] = "this rank ";

void
engine_describe_expulsion(const char *why, char text[LIMIT_ERROR_TEXT])
{
    const char *who = evidence_find_reporters(why);

    snprintf(text, LIMIT_ERROR_TEXT, "%s%s (%.*s)", EXPELLED_PREFIX,
             who ? who + strlen(EVIDENCE_REPORTED_BY) : "the coordinator",
             (int)(who ? who - why : (ptrdiff_t)strlen(why)), why);
}

const char *
lost_rank_describe(const struct engine *engine,
                   uint32_t rank,
                   char text[LIMIT_ERROR_TEXT])
{
    const struct rank_liveness *liveness = &engine->liveness.ranks[rank];
    char name[ROSTER_NAME_MAX];

    if (rank != engine->roster->rank)
        snprintf(text, LIMIT_ERROR_TEXT, "%s %s%s",
                 roster_format_name(engine->roster, rank, name),
                 liveness->has_given_up ? "" : "is lost: ", liveness->why);
    else if (liveness->has_given_up)
        snprintf(text, LIMIT_ERROR_TEXT, "%s%s", GIVEN_UP, liveness->why);
    else
        engine_describe_expulsion(liveness->why, text);
    return text;
}

const char *
lost_rank_describe_to_others(const struct engine *engine,
                             const char *text,
                             char out_text[LIMIT_ERROR_TEXT])
{
    const uint32_t self = engine->roster->rank;
    const struct rank_liveness *liveness = &engine->liveness.ranks[self];
    const char *begin = liveness->has_given_up ? GIVEN_UP : EXPELLED_PREFIX;
    char name[ROSTER_NAME_MAX];

    if (!liveness->is_lost || strncmp(text, begin, strlen(begin)) != 0)
        return text;
    snprintf(out_text, LIMIT_ERROR_TEXT, "%s %s%s",
             roster_format_name(engine->roster, self, name),
             liveness->has_given_up ? "" : "is lost: ", liveness->why);
    return out_text;
}

void
expulsion_add_time(const char *why, char out_why[LOST_REASON_TEXT_MAX])
{
    const char *who = evidence_find_reporters(why);
    char when[32];
    char head[LOST_REASON_TEXT_MAX];
    char tail[LOST_REASON_TEXT_MAX / 2];

    if (!who)
        who = why + strlen(why);
    time_format_utc(when);
    snprintf(head, sizeof(head), "%.*s", (int)(who - why), why);
    snprintf(tail, sizeof(tail), ", at %s%.90s", when, who);
    reason_write_truncated(head, tail, out_why);
}
