/* http/feed.c - what open pages are told, as server-sent events */

#include "http/feed.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "http/page_log.h"
#include "net/loop.h"

enum {
    SECOND_MS = 1000,
    /* A query without an answer for so long is made again. */
    QUERY_GIVEN_UP_MS = 5000,
    /* How long a page waits before it connects again. */
    RETRY_MS = 1000,
    /* Rows get half of the room. With less, they wait: the rest is for the time
     * and the log. */
    ROOM_MIN = LIMIT_HTTP_STREAM_BYTES / 4,
};

struct feed_topic {
    TAILQ_ENTRY(feed_topic) link;
    char job[LIMIT_NAME]; /* "": the list of jobs */
    size_t n_users;       /* its readers, and whoever walks over them */
    uint64_t number;      /* of the open query; 0: none is open */
    uint64_t queried_ns;
    struct rows rows; /* of the last good answer */
};

struct feed_answer {
    STAILQ_ENTRY(feed_answer) link;
    uint64_t number;
    enum hoop_status status;
    char *json;
};

TAILQ_HEAD(feed_topics, feed_topic);
TAILQ_HEAD(feed_readers, feed_reader);
STAILQ_HEAD(feed_answers, feed_answer);

struct feed {
    struct feed_options options;
    struct loop_timer *second;
    struct feed_topics topics;
    struct feed_readers readers;
    uint64_t last_number;
    pthread_mutex_t lock; /* protects the rest */
    struct feed_answers answers;
    struct page_log log;
};

/* ---- Topics and their queries. */

static void
topic_query(struct feed *feed, struct feed_topic *topic)
{
    if (topic->number && clock_now_ns() - topic->queried_ns <
                             QUERY_GIVEN_UP_MS * CLOCK_NS_PER_MS)
        return;
    topic->number = ++feed->last_number;
    topic->queried_ns = clock_now_ns();
    if (!feed->options.query(feed->options.query_owner, topic->number,
                             topic->job))
        topic->number = 0; /* again in a second */
}

/* Return the topic, with one more user; NULL: no memory. */
static struct feed_topic *
topic_acquire(struct feed *feed, const char *job)
{
    struct feed_topic *topic = NULL;

    TAILQ_FOREACH(topic, &feed->topics, link)
    {
        if (strcmp(topic->job, job) == 0)
            break;
    }
    if (!topic) {
        topic = calloc(1, sizeof(*topic));
        if (!topic)
            return NULL;
        snprintf(topic->job, sizeof(topic->job), "%s", job);
        TAILQ_INSERT_TAIL(&feed->topics, topic, link);
    }
    topic->n_users++;
    return topic;
}

/* NULL is allowed. */
static void
topic_release(struct feed *feed, struct feed_topic *topic)
{
    if (!topic || --topic->n_users > 0)
        return;
    TAILQ_REMOVE(&feed->topics, topic, link);
    rows_deinit(&topic->rows);
    free(topic);
}

/* ---- Writing events. */

/* Report the events that were written to out, and close it. *text is freed. */
static void
events_report(struct feed *feed,
              struct feed_reader *reader,
              FILE *out,
              char **text,
              const size_t *n_text)
{
    if (fclose(out) == 0 && *n_text > 0)
        feed->options.on_events(reader, *text, *n_text);
    free(*text);
}

/* One event. Its data hold no line ends. */
static void
event_report(struct feed *feed,
             struct feed_reader *reader,
             const char *name,
             const char *data)
{
    char *text = NULL;
    size_t n_text = 0;
    FILE *out = open_memstream(&text, &n_text);

    if (!out)
        return;
    fprintf(out, "event: %s\ndata: %s\n\n", name, data);
    events_report(feed, reader, out, &text, &n_text);
}

/* Write the entries that the reader has not seen. */
static void
entries_write(struct feed *feed, struct feed_reader *reader, FILE *out)
{
    pthread_mutex_lock(&feed->lock);
    page_log_write(&feed->log, feed->options.boot, reader->entry_seen, out);
    reader->entry_seen = feed->log.n_ever;
    pthread_mutex_unlock(&feed->lock);
}

static void
time_and_entries_report(struct feed *feed, struct feed_reader *reader)
{
    char *text = NULL;
    size_t n_text = 0;
    FILE *out = open_memstream(&text, &n_text);

    if (!out)
        return;
    fprintf(out, "event: time\ndata: %" PRIu64 "\n\n",
            clock_wall_ns() / CLOCK_NS_PER_MS);
    entries_write(feed, reader, out);
    events_report(feed, reader, out, &text, &n_text);
}

/* Report what reader has not seen of topic, as far as there is room. */
static void
rows_report(struct feed *feed,
            struct feed_reader *reader,
            const struct feed_topic *topic,
            struct rows_seen *seen)
{
    const size_t n_room = feed->options.room(reader);
    char *text = NULL;
    size_t n_text = 0;

    if (n_room < ROOM_MIN || !rows_have_news(&topic->rows, seen))
        return;
    FILE *out = open_memstream(&text, &n_text);
    if (!out)
        return;
    fprintf(out, "event: %s\ndata: ", topic->job[0] ? "job" : "jobs");
    rows_write(&topic->rows, seen, n_room / 2, out);
    fputs("\n\n", out);
    events_report(feed, reader, out, &text, &n_text);
}

/* A page that watches a job is shown the list only for its beginning. */
static void
jobs_report(struct feed *feed, struct feed_reader *reader)
{
    rows_report(feed, reader, reader->jobs, &reader->jobs_seen);
    if (reader->job && reader->jobs_seen.revision > 0)
        topic_release(feed, STEAL(reader->jobs));
}

/* ---- Answers. */

static void
reader_take_answer(struct feed *feed,
                   struct feed_reader *reader,
                   const struct feed_topic *topic,
                   const struct feed_answer *answer)
{
    if (!reader->is_stream) {
        feed_unsubscribe(feed, reader);
        feed->options.on_answer(reader, answer->status, answer->json);
    } else if (reader->jobs == topic) {
        jobs_report(feed, reader);
    } else if (answer->status == HOOP_OK) {
        rows_report(feed, reader, topic, &reader->job_seen);
    } else if (answer->json) {
        event_report(feed, reader, "job_error", answer->json);
    }
}

/* Readers may unsubscribe meanwhile, and so end the topic. */
static void
topic_take_answer(struct feed *feed,
                  struct feed_topic *topic,
                  const struct feed_answer *answer)
{
    struct feed_reader *next = NULL;

    topic->number = 0;
    topic->n_users++;
    if (answer->status == HOOP_OK && answer->json)
        rows_update(&topic->rows, answer->json);
    for (struct feed_reader *reader = TAILQ_FIRST(&feed->readers); reader;
         reader = next) {
        next = TAILQ_NEXT(reader, link);
        if (reader->job == topic || reader->jobs == topic)
            reader_take_answer(feed, reader, topic, answer);
    }
    topic_release(feed, topic);
}

static struct feed_answer *
answers_take_first(struct feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    struct feed_answer *answer = STAILQ_FIRST(&feed->answers);

    if (answer)
        STAILQ_REMOVE_HEAD(&feed->answers, link);
    pthread_mutex_unlock(&feed->lock);
    return answer;
}

static void
answer_destroy(struct feed_answer *answer)
{
    free(answer->json);
    free(answer);
}

static void
on_answers(void *owner)
{
    struct feed *feed = owner;
    struct feed_answer *answer = NULL;
    struct feed_topic *topic = NULL;

    while ((answer = answers_take_first(feed))) {
        TAILQ_FOREACH(topic, &feed->topics, link)
        {
            if (topic->number == answer->number)
                break;
        }
        if (topic)
            topic_take_answer(feed, topic, answer);
        answer_destroy(answer);
    }
}

/* Without memory the query is made again. */
void
feed_answer(struct feed *feed,
            uint64_t number,
            enum hoop_status status,
            char *json)
{
    struct feed_answer *answer = calloc(1, sizeof(*answer));

    if (!answer) {
        free(json);
        return;
    }
    answer->number = number;
    answer->status = status;
    answer->json = json;
    pthread_mutex_lock(&feed->lock);
    STAILQ_INSERT_TAIL(&feed->answers, answer, link);
    pthread_mutex_unlock(&feed->lock);
    loop_post(feed->options.loop, on_answers, feed);
}

void
feed_log_add(struct feed *feed, const char *job, const char *json)
{
    pthread_mutex_lock(&feed->lock);
    page_log_add(&feed->log, job, json);
    pthread_mutex_unlock(&feed->lock);
}

/* ---- Readers. */

/* What a stream has not seen yet for want of room follows. */
static void
stream_go_on(struct feed *feed, struct feed_reader *reader)
{
    time_and_entries_report(feed, reader);
    if (reader->jobs && reader->jobs_seen.next > 0)
        jobs_report(feed, reader);
    if (reader->job && reader->job_seen.next > 0)
        rows_report(feed, reader, reader->job, &reader->job_seen);
}

static void
on_second(void *owner)
{
    struct feed *feed = owner;
    struct feed_topic *topic = NULL;
    struct feed_reader *next = NULL;

    on_answers(feed);
    TAILQ_FOREACH(topic, &feed->topics, link)
    topic_query(feed, topic);
    for (struct feed_reader *reader = TAILQ_FIRST(&feed->readers); reader;
         reader = next) {
        next = TAILQ_NEXT(reader, link);
        if (reader->is_stream)
            stream_go_on(feed, reader);
    }
    feed->options.on_second(feed->options.owner);
    if (!TAILQ_EMPTY(&feed->readers))
        loop_timer_start(feed->second, SECOND_MS);
}

/* Also if this fails, on_second() is called within a second. */
static enum hoop_status
reader_subscribe(struct feed *feed,
                 struct feed_reader *reader,
                 const char *job,
                 bool wants_jobs)
{
    if (!loop_timer_is_started(feed->second))
        loop_timer_start(feed->second, SECOND_MS);
    TAILQ_INSERT_TAIL(&feed->readers, reader, link);
    if (job[0])
        reader->job = topic_acquire(feed, job);
    if (wants_jobs)
        reader->jobs = topic_acquire(feed, "");
    if ((job[0] && !reader->job) || (wants_jobs && !reader->jobs)) {
        if (!reader->job && !reader->jobs)
            TAILQ_REMOVE(&feed->readers, reader, link);
        else
            feed_unsubscribe(feed, reader);
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a reader");
    }
    if (reader->job)
        topic_query(feed, reader->job);
    if (reader->jobs)
        topic_query(feed, reader->jobs);
    return HOOP_OK;
}

enum hoop_status
feed_read_once(struct feed *feed, struct feed_reader *reader, const char *job)
{
    *reader = (struct feed_reader){0};
    const enum hoop_status status =
        reader_subscribe(feed, reader, job, !job[0]);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
feed_read_stream(struct feed *feed,
                 struct feed_reader *reader,
                 const char *job,
                 uint64_t entry_seen)
{
    char *text = NULL;
    size_t n_text = 0;

    *reader = (struct feed_reader){.is_stream = true, .entry_seen = entry_seen};
    const enum hoop_status status = reader_subscribe(feed, reader, job, true);
    if (status != HOOP_OK)
        return error_pass(status);
    FILE *out = open_memstream(&text, &n_text);
    if (!out) {
        feed_unsubscribe(feed, reader);
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a reader");
    }
    fprintf(out,
            "retry: %d\nevent: hello\ndata: {\"boot\":\"%016" PRIx64 "\"}\n\n",
            RETRY_MS, feed->options.boot);
    entries_write(feed, reader, out);
    events_report(feed, reader, out, &text, &n_text);
    jobs_report(feed, reader);
    return HOOP_OK;
}

void
feed_unsubscribe(struct feed *feed, struct feed_reader *reader)
{
    if (!reader->job && !reader->jobs)
        return;
    TAILQ_REMOVE(&feed->readers, reader, link);
    topic_release(feed, STEAL(reader->job));
    topic_release(feed, STEAL(reader->jobs));
}

/* ---- The feed. */

enum hoop_status
feed_create(const struct feed_options *options, struct feed **out_feed)
{
    struct feed *feed = calloc(1, sizeof(*feed));

    if (!feed)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the page");
    feed->options = *options;
    TAILQ_INIT(&feed->topics);
    TAILQ_INIT(&feed->readers);
    STAILQ_INIT(&feed->answers);
    page_log_init(&feed->log);
    pthread_mutex_init(&feed->lock, NULL);
    const enum hoop_status status =
        loop_timer_create(options->loop, on_second, feed, &feed->second);
    if (status != HOOP_OK) {
        feed_destroy(feed);
        return error_pass(status);
    }
    *out_feed = feed;
    return HOOP_OK;
}

void
feed_destroy(struct feed *feed)
{
    struct feed_answer *answer = NULL;

    if (!feed)
        return;
    loop_cancel_posts(feed->options.loop, feed);
    loop_timer_destroy(feed->second);
    while ((answer = answers_take_first(feed)))
        answer_destroy(answer);
    page_log_deinit(&feed->log);
    pthread_mutex_destroy(&feed->lock);
    free(feed);
}
