/* session/control_why.c - asks the coordinator what holds a job up */

#include <stddef.h>

#include "hoop/control.h"

#include "base/error.h"
#include "session/control.h"

static const char *
awaited_doing_text(uint32_t doing)
{
    switch (doing) {
    case AWAITED_HAS_CALLED:
        return "in this call";
    case AWAITED_IN_OTHER_CALL:
        return "in another call";
    case AWAITED_IN_NO_CALL:
        return "in no call";
    default: /* a newer coordinator may send others */
        return "";
    }
}

static const char *
awaited_sign_text(uint32_t sign)
{
    if (sign == AWAITED_LIVES)
        return "heard";
    return sign == AWAITED_IS_SILENT ? "not heard" : "";
}

static struct hoop_control_why_rank
why_rank_from_reply(const struct why_rank *from,
                    const struct hoop_control_rank *rank)
{
    return (struct hoop_control_why_rank){
        .rank = rank,
        .last_sign_ms = from->last_sign_ms,
        .is_setup = from->is_setup != 0,
        .communicator_id = from->communicator_id,
        .awaited_rank = from->awaited_rank,
        .awaited_doing = awaited_doing_text(from->awaited_doing),
        .awaited_call = from->awaited_call,
        .awaited_sign = awaited_sign_text(from->awaited_sign),
        .awaited_hears = awaited_sign_text(from->awaited_hears),
        .awaited_silence_ms = from->awaited_silence_ms,
        .n_done_bytes = from->n_done_bytes,
        .n_bytes = from->n_bytes,
        .finished = from->finished,
        .failure = from->failure,
        .failure_status = (enum hoop_status)from->failure_status,
        .process = from->process_state < 128 ? (char)from->process_state : '\0',
        .where = from->where,
        .swapped_kib = from->swapped_kib,
        .held_up_ms = from->held_up_ms,
        .held_up_rank = from->held_up_rank,
        .lost_revision = from->lost_revision,
        .stack = status_span_text(from->stack),
        .held_up_span_ms = from->held_up_span_ms,
    };
}

static enum hoop_status
why_query(struct hoop_control *control)
{
    struct why_reply *reply = &control->answer.why;
    enum hoop_status status = control_call(control, METHOD_STATUS_WHY, NULL);

    if (status == HOOP_OK)
        status = why_reply_decode(control_answer_body(control), reply);
    if (status != HOOP_OK)
        return error_pass(status);
    for (size_t i = 0; i < reply->n_order; i++) {
        if (reply->order[i] >= reply->n_ranks)
            return error_raise(HOOP_E_DATA_LOSS,
                               "the coordinator's order of ranks names place "
                               "%u of %zu",
                               reply->order[i], reply->n_ranks);
    }
    if (reply->n_ranks != reply->job.n_members ||
        reply->n_order != reply->n_ranks)
        return error_raise(HOOP_E_DATA_LOSS,
                           "the coordinator describes %zu of %zu members",
                           reply->n_ranks, reply->job.n_members);
    return HOOP_OK;
}

enum hoop_status
hoop_control_why(hoop_control_t *control,
                 const struct hoop_control_verdict **out_verdict)
{
    enum hoop_status status =
        control_check_argument(control, out_verdict, "out_verdict");
    if (status == HOOP_OK)
        status = why_query(control);
    if (status != HOOP_OK)
        return error_pass(status);

    /* One allocation holds the lines, the ranks and their parts. */
    const struct why_reply *reply = &control->answer.why;
    struct hoop_control_why_rank *lines = control_answer_alloc_items(
        control, reply->n_ranks,
        sizeof(*lines) + sizeof(struct hoop_control_rank) +
            sizeof(struct control_rank_parts));
    if (!lines)
        return error_pass(HOOP_E_EXHAUSTED);
    struct hoop_control_rank *ranks =
        (struct hoop_control_rank *)(lines + reply->n_ranks);

    control_roster_fill(control, &reply->job, ranks,
                        (struct control_rank_parts *)(ranks + reply->n_ranks));
    for (size_t i = 0; i < reply->n_order; i++)
        lines[i] = why_rank_from_reply(&reply->ranks[reply->order[i]],
                                       &ranks[reply->order[i]]);
    control->answer.verdict = (struct hoop_control_verdict){
        .kind = reply->kind,
        .sentence = reply->sentence,
        .advice = reply->advice,
        .is_held_up = reply->is_held_up != 0,
        .n_culprits = reply->n_culprits,
        .culprits = reply->culprits,
        .roster = &control->answer.roster,
        .n_ranks = reply->n_ranks,
        .ranks = lines,
    };
    *out_verdict = &control->answer.verdict;
    return HOOP_OK;
}
