/* fault/fault_rule.c - one fault: what happens where, and when */

#include "fault/fault_rule.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"

enum {
    EXIT_CODE_MAX = 255,
    FRAME_BITS = 8 * 1024, /* bits that can be corrupted: the header and the
                              begin of the payload */
    SHOWN_MAX = 40,        /* characters of a wrong text in an error */
    NOTE_MAX = 1 << 20,    /* largest descriptor */
};

static const uint64_t DELAY_MAX_NS = 3600 * CLOCK_NS_PER_S;

/* Part of the rule's text. */
struct piece {
    const char *text;
    size_t n_bytes;
};

static const char *const action_names[FAULT_ACTIONS] = {
    [FAULT_NOTHING] = "nothing",   [FAULT_KILL] = "kill",
    [FAULT_STOP] = "stop",         [FAULT_EXIT] = "exit",
    [FAULT_DELAY] = "delay",       [FAULT_JITTER] = "jitter",
    [FAULT_RESET] = "reset",       [FAULT_HALF_CLOSE] = "half-close",
    [FAULT_DROP] = "drop",         [FAULT_CORRUPT] = "corrupt",
    [FAULT_TRUNCATE] = "truncate", [FAULT_DUPLICATE] = "duplicate",
    [FAULT_UNPLUG] = "unplug",
};

static const char *const point_names[FAULT_POINTS] = {
    [FAULT_AT_BEGIN] = "begin",
    [FAULT_AT_SEND] = "send",
    [FAULT_AT_RECEIVE] = "receive",
    [FAULT_AT_END] = "end",
};

const char *
fault_action_name(enum fault_action action)
{
    return action_names[action];
}

bool
fault_action_tampers(enum fault_action action)
{
    return action >= FAULT_RESET && action < FAULT_ACTIONS;
}

static bool
piece_is(struct piece piece, const char *word)
{
    return strlen(word) == piece.n_bytes &&
           memcmp(piece.text, word, piece.n_bytes) == 0;
}

/* Split at mark: the part before it and the rest. Return false if there is no
 * mark; all is then the first part. */
static bool
piece_cut(struct piece whole,
          char mark,
          struct piece *out_first,
          struct piece *out_rest)
{
    const char *at =
        whole.n_bytes > 0 ? memchr(whole.text, mark, whole.n_bytes) : NULL;

    *out_first = whole;
    *out_rest = (struct piece){whole.text + whole.n_bytes, 0};
    if (!at)
        return false;
    out_first->n_bytes = (size_t)(at - whole.text);
    *out_rest = (struct piece){at + 1, whole.n_bytes - out_first->n_bytes - 1};
    return true;
}

static enum hoop_status
refuse(struct piece piece, const char *what, const char *expected)
{
    const int n_shown =
        piece.n_bytes < SHOWN_MAX ? (int)piece.n_bytes : SHOWN_MAX;

    return error_raise(HOOP_E_INVALID, "'%.*s' is no %s: give %s", n_shown,
                       piece.text, what, expected);
}

/* Read the digits at the beginning; out_rest is what follows. Saturates. */
static bool
number_read(struct piece piece, uint64_t *out_number, struct piece *out_rest)
{
    uint64_t number = 0;
    size_t i = 0;

    for (; i < piece.n_bytes && isdigit((unsigned char)piece.text[i]); i++) {
        const unsigned digit = (unsigned)(piece.text[i] - '0');

        number = number > (UINT64_MAX - digit) / 10 ? UINT64_MAX
                                                    : number * 10 + digit;
    }
    *out_number = number;
    *out_rest = (struct piece){piece.text + i, piece.n_bytes - i};
    return i > 0;
}

static enum hoop_status
number_parse(struct piece value, uint64_t max, uint64_t *out_number)
{
    struct piece rest;
    uint64_t number;

    if (!number_read(value, &number, &rest) || rest.n_bytes > 0)
        return refuse(value, "number", "digits alone");
    if (number > max)
        return error_raise(
            HOOP_E_INVALID, "%.*s is too large, %llu is the most",
            (int)value.n_bytes < SHOWN_MAX ? (int)value.n_bytes : SHOWN_MAX,
            value.text, (unsigned long long)max);
    *out_number = number;
    return HOOP_OK;
}

static enum hoop_status
rank_parse(struct piece value, uint32_t *out_rank)
{
    uint64_t number = 0;
    const enum hoop_status status =
        number_parse(value, LIMIT_RANKS - 1, &number);

    if (status != HOOP_OK)
        return error_pass(status);
    *out_rank = (uint32_t)number;
    return HOOP_OK;
}

/* Read the rank, or "coordinator". */
static enum hoop_status
place_parse(struct piece value, uint32_t *out_rank)
{
    if (!piece_is(value, "coordinator"))
        return rank_parse(value, out_rank);
    *out_rank = FAULT_COORDINATOR;
    return HOOP_OK;
}

/* Counted from 1. */
static enum hoop_status
count_parse(struct piece value, uint64_t *out_count)
{
    const enum hoop_status status = number_parse(value, UINT32_MAX, out_count);

    if (status != HOOP_OK)
        return error_pass(status);
    return *out_count > 0 ? HOOP_OK : refuse(value, "place", "1 for the first");
}

static enum hoop_status
op_parse(struct piece value, char out_op[FAULT_OP_MAX])
{
    bool is_name = value.n_bytes > 0 && value.n_bytes < FAULT_OP_MAX;

    for (size_t i = 0; is_name && i < value.n_bytes; i++)
        is_name = islower((unsigned char)value.text[i]) || value.text[i] == '_';
    if (!is_name)
        return refuse(value, "operation", "a name as errors say it: allreduce");
    memcpy(out_op, value.text, value.n_bytes);
    out_op[value.n_bytes] = '\0';
    return HOOP_OK;
}

static enum hoop_status
delay_parse(struct piece value, uint64_t *out_ns)
{
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = {{"s", CLOCK_NS_PER_S}, {"ms", CLOCK_NS_PER_MS}, {"us", 1000}};
    struct piece rest;
    uint64_t number;

    if (!number_read(value, &number, &rest))
        return refuse(value, "delay", "a number with s, ms or us");
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (!piece_is(rest, units[i].unit))
            continue;
        if (number > DELAY_MAX_NS / units[i].ns)
            return refuse(value, "delay", "an hour at most");
        *out_ns = number * units[i].ns;
        return HOOP_OK;
    }
    return refuse(value, "delay", "a number with s, ms or us");
}

/* Read what follows the colon. */
static enum hoop_status
amount_parse(struct fault_rule *rule, struct piece amount)
{
    switch (rule->action) {
    case FAULT_DELAY:
        return delay_parse(amount, &rule->amount);
    case FAULT_JITTER:
        return number_parse(amount, UINT32_MAX, &rule->amount);
    case FAULT_EXIT:
        return number_parse(amount, EXIT_CODE_MAX, &rule->amount);
    case FAULT_CORRUPT:
        return number_parse(amount, FRAME_BITS - 1, &rule->amount);
    case FAULT_NOTHING:
    case FAULT_KILL:
    case FAULT_STOP:
    case FAULT_RESET:
    case FAULT_HALF_CLOSE:
    case FAULT_DROP:
    case FAULT_TRUNCATE:
    case FAULT_DUPLICATE:
    case FAULT_UNPLUG:
    case FAULT_ACTIONS:
        break;
    }
    return error_raise(HOOP_E_INVALID, "do=%s has nothing behind a colon",
                       action_names[rule->action]);
}

static enum hoop_status
action_parse(struct fault_rule *rule, struct piece value)
{
    struct piece name;
    struct piece amount;
    const bool has_amount = piece_cut(value, ':', &name, &amount);

    for (int i = FAULT_KILL; i < FAULT_ACTIONS; i++) {
        if (piece_is(name, action_names[i]))
            rule->action = (enum fault_action)i;
    }
    if (rule->action == FAULT_NOTHING)
        return refuse(value, "fault",
                      "do=kill, stop, exit:CODE, delay:5s, jitter:SEED, reset, "
                      "half-close, drop, corrupt:BIT, truncate, duplicate or "
                      "unplug");
    if (has_amount)
        return amount_parse(rule, amount);
    if (rule->action == FAULT_JITTER)
        return refuse(value, "jitter", "its seed: do=jitter:1");
    return rule->action == FAULT_DELAY
               ? refuse(value, "delay", "how long: do=delay:5s")
               : HOOP_OK;
}

static enum hoop_status
point_parse(struct piece value, enum fault_point *out_point)
{
    for (int i = 0; i < FAULT_POINTS; i++) {
        if (piece_is(value, point_names[i])) {
            *out_point = (enum fault_point)i;
            return HOOP_OK;
        }
    }
    return refuse(value, "moment", "at=begin, send, receive or end");
}

static enum hoop_status
note_parse(struct piece value, int *out_fd)
{
    uint64_t number = 0;
    const enum hoop_status status = number_parse(value, NOTE_MAX, &number);

    if (status != HOOP_OK)
        return error_pass(status);
    *out_fd = (int)number;
    return HOOP_OK;
}

static enum hoop_status
pair_parse(struct fault_rule *rule, struct piece key, struct piece value)
{
    if (piece_is(key, "rank"))
        return place_parse(value, &rule->rank);
    if (piece_is(key, "peer"))
        return rank_parse(value, &rule->peer);
    if (piece_is(key, "op"))
        return op_parse(value, rule->op);
    if (piece_is(key, "seq"))
        return count_parse(value, &rule->seq);
    if (piece_is(key, "round"))
        return count_parse(value, &rule->round);
    if (piece_is(key, "segment"))
        return count_parse(value, &rule->segment);
    if (piece_is(key, "at"))
        return point_parse(value, &rule->at);
    if (piece_is(key, "do"))
        return action_parse(rule, value);
    if (piece_is(key, "note"))
        return note_parse(value, &rule->note_fd);
    return refuse(key, "key",
                  "rank, peer, op, seq, round, segment, at, do or note");
}

/* Its calls have no pieces, but a call or its connection can be lost. */
static enum hoop_status
coordinator_settle(struct fault_rule *rule)
{
    const bool loses =
        rule->action == FAULT_DROP || rule->action == FAULT_RESET;

    if (rule->at == FAULT_POINTS)
        rule->at = loses ? FAULT_AT_SEND : FAULT_AT_BEGIN;
    if (rule->round > 0 || rule->segment > 0 || rule->peer != FAULT_ANY_RANK ||
        rule->at == FAULT_AT_RECEIVE)
        return error_raise(HOOP_E_INVALID,
                           "rank=coordinator has calls alone: give op, seq and "
                           "at=begin, send or end");
    if (fault_action_tampers(rule->action) && !loses)
        return error_raise(HOOP_E_INVALID,
                           "do=%s happens to frames, and the coordinator sends "
                           "none",
                           action_names[rule->action]);
    if (rule->action == FAULT_DROP && rule->at == FAULT_AT_END)
        return error_raise(HOOP_E_INVALID,
                           "what has been answered cannot be dropped");
    return HOOP_OK;
}

/* Choose the point if it was left out, and check the combination. */
static enum hoop_status
rule_settle(struct fault_rule *rule)
{
    const bool has_piece =
        rule->round > 0 || rule->segment > 0 || rule->peer != FAULT_ANY_RANK;
    const bool tampers = fault_action_tampers(rule->action);

    if (rule->action == FAULT_NOTHING)
        return error_raise(HOOP_E_INVALID, "it does nothing: add do=kill, say");
    if (rule->rank == FAULT_COORDINATOR)
        return coordinator_settle(rule);
    /* Applies to all points, unless one is named. */
    if (rule->action == FAULT_JITTER)
        return HOOP_OK;
    if (rule->at == FAULT_POINTS)
        rule->at = tampers || has_piece ? FAULT_AT_SEND : FAULT_AT_BEGIN;
    if (tampers && rule->at != FAULT_AT_SEND)
        return error_raise(HOOP_E_INVALID,
                           "do=%s happens to what is sent: at=send",
                           action_names[rule->action]);
    if (has_piece && (rule->at == FAULT_AT_BEGIN || rule->at == FAULT_AT_END))
        return error_raise(HOOP_E_INVALID,
                           "at=%s has no round, segment or peer",
                           point_names[rule->at]);
    return HOOP_OK;
}

enum hoop_status
fault_rule_parse(const char *text, size_t n_bytes, struct fault_rule *out_rule)
{
    struct fault_rule rule = {
        .rank = FAULT_ANY_RANK,
        .peer = FAULT_ANY_RANK,
        .at = FAULT_POINTS,
        .note_fd = -1,
    };
    struct piece rest = {text, n_bytes};
    bool has_more = true;

    while (has_more) {
        struct piece pair;
        struct piece key;
        struct piece value;

        has_more = piece_cut(rest, ',', &pair, &rest);
        if (!piece_cut(pair, '=', &key, &value))
            return refuse(pair, "pair", "key=value");
        const enum hoop_status status = pair_parse(&rule, key, value);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    const enum hoop_status status = rule_settle(&rule);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_rule = rule;
    return HOOP_OK;
}

bool
fault_rule_begin(struct fault_rule *rule, const char *op)
{
    if (rule->is_spent || (rule->op[0] && strcmp(rule->op, op) != 0))
        return false;
    rule->n_begun++;
    if (rule->action == FAULT_JITTER)
        rule->n_pieces = 0;
    return rule->seq == 0 || rule->seq == rule->n_begun;
}

/* Return whether the event is one that the rule counts. */
static bool
means(const struct fault_rule *rule, const struct fault_event *event)
{
    const bool is_any =
        rule->action == FAULT_JITTER && rule->at == FAULT_POINTS;

    if (rule->is_spent || (!is_any && rule->at != event->point))
        return false;
    if (fault_action_tampers(rule->action) && !event->is_frame)
        return false;
    if (rule->peer != FAULT_ANY_RANK && event->peer != FAULT_ANY_RANK &&
        rule->peer != event->peer)
        return false;
    return rule->round == 0 || rule->round == event->round;
}

bool
fault_rule_is_due(const struct fault_rule *rule,
                  const struct fault_event *event)
{
    return means(rule, event) &&
           (rule->segment == 0 || rule->segment == rule->n_pieces + 1);
}

bool
fault_rule_strikes(struct fault_rule *rule, const struct fault_event *event)
{
    if (!means(rule, event))
        return false;
    const bool is_due = fault_rule_is_due(rule, event);

    rule->is_spent = is_due && rule->action != FAULT_JITTER;
    rule->n_pieces++;
    return is_due;
}

/* As in splitmix64: similar numbers become different ones. */
static uint64_t
mix(uint64_t number)
{
    number += 0x9e3779b97f4a7c15;
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
    number = (number ^ number >> 27) * 0x94d049bb133111eb;
    return number ^ number >> 31;
}

void
fault_rule_settle_on(struct fault_rule *rule, uint32_t rank)
{
    if (rule->action == FAULT_JITTER)
        rule->amount = mix(mix(rule->amount) ^ rank);
}

/* The seed decides for each rank whether its delays are long, short or absent,
 * since programs are least prepared for a rank that is always late. Delays
 * before a call are ten times as long as those within one, which all ranks wait
 * for too. */
uint64_t
fault_rule_jitter_ns(const struct fault_rule *rule,
                     const struct fault_event *event)
{
    static const uint64_t longest_ns[] = {0, 1000 * 200, 1000 * 2000,
                                          1000 * 20000};
    const uint64_t of_rank_ns = longest_ns[rule->amount % COUNT_OF(longest_ns)];
    const uint64_t drawn = mix(
        mix(mix(rule->amount ^ rule->n_begun) ^ event->point) ^ rule->n_pieces);
    const bool is_call =
        event->point == FAULT_AT_BEGIN || event->point == FAULT_AT_END;

    /* Delay half of all calls, and one piece in eight. */
    if (of_rank_ns == 0 || drawn % (is_call ? 2 : 8) != 0)
        return 0;
    return (drawn >> 8) % (is_call ? of_rank_ns : of_rank_ns / 10);
}
