/* tests/unit/common/net/tls_test.c - net/tls.c, net/tls_context.c */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "certificates.h"
#include "check.h"
#include "net/tls.h"

enum {
    DAY_S = 24 * 60 * 60,
    LARGE = 3 * 1024 * 1024,
    TURNS_MAX = 100000,
};

/* The ends of one connection. */
struct rig {
    struct tls_context *contexts[2]; /* of the client, the server */
    struct tls *ends[2];
    int fds[2];
};

static struct rig rig;

static const uint8_t right_key[TLS_KEY_BYTES] = "the key that both know";
static const uint8_t wrong_key[TLS_KEY_BYTES] = "a key that one knows";

/* Made by a clock by which all certificates are valid. */
static void
rig_open(const struct tls_options *client, const struct tls_options *server)
{
    rig = (struct rig){0};
    assert_int_equal(
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, rig.fds), 0);
    certificates_set_clock(CERTIFICATES_BEFORE_S);
    assert_ok(tls_context_create(client, &rig.contexts[0]));
    assert_ok(tls_context_create(server, &rig.contexts[1]));
    certificates_set_clock(0);
    assert_ok(tls_create_client(rig.contexts[0], rig.fds[0], "rank 0 to 1",
                                &rig.ends[0]));
    assert_ok(tls_create_server(rig.contexts[1], rig.fds[1], &rig.ends[1]));
}

static void
rig_close(void)
{
    for (int i = 0; i < 2; i++) {
        /* A connection outlives what it was made of. */
        tls_context_destroy(rig.contexts[i]);
        tls_destroy(rig.ends[i]);
        close(rig.fds[i]);
    }
}

/* In turns, until both have an outcome. */
static void
shake(enum hoop_status out_outcomes[2])
{
    out_outcomes[0] = HOOP_E_PENDING;
    out_outcomes[1] = HOOP_E_PENDING;
    for (int i = 0; i < 100; i++) {
        if (out_outcomes[i % 2] == HOOP_E_PENDING)
            out_outcomes[i % 2] = tls_handshake(rig.ends[i % 2]);
    }
}

static void
rig_open_by_key(void)
{
    const struct tls_options options = {.key = right_key};
    enum hoop_status outcomes[2];

    rig_open(&options, &options);
    shake(outcomes);
    assert_ok(outcomes[0]);
    assert_ok(outcomes[1]);
}

static void
bytes_fill(uint8_t *bytes, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 13);
}

/* As much as from gives, in spans of odd sizes. */
static size_t
send_some(struct tls *from, const uint8_t *bytes, size_t n_bytes)
{
    const size_t n_first = n_bytes < 128 ? n_bytes : 128;
    const struct iovec spans[] = {
        {(void *)(uintptr_t)bytes, n_first},
        {(void *)(uintptr_t)(bytes + n_first), n_bytes - n_first},
    };
    const ssize_t n = tls_send(from, spans, 2);

    assert_true(n >= 0 || errno == EAGAIN);
    return n > 0 ? (size_t)n : 0;
}

static size_t
receive_some(struct tls *at, uint8_t *bytes, size_t n_room)
{
    const size_t n_first = n_room < 7000 ? n_room : 7000;
    const struct iovec spans[] = {{bytes, n_first},
                                  {bytes + n_first, n_room - n_first}};
    const ssize_t n = tls_receive(at, spans, 2);

    assert_true(n > 0 || errno == EAGAIN);
    return n > 0 ? (size_t)n : 0;
}

static void
carry(struct tls *from, struct tls *to, size_t n_bytes)
{
    uint8_t *said = malloc(n_bytes);
    uint8_t *heard = calloc(1, n_bytes);
    size_t n_said = 0;
    size_t n_heard = 0;

    assert_non_null(said);
    assert_non_null(heard);
    bytes_fill(said, n_bytes);
    for (int i = 0; i < TURNS_MAX && n_heard < n_bytes; i++) {
        if (n_said < n_bytes || tls_has_unsent(from))
            n_said += send_some(from, said + n_said, n_bytes - n_said);
        n_heard += receive_some(to, heard + n_heard, n_bytes - n_heard);
    }
    assert_int_equal(n_said, n_bytes);
    assert_int_equal(n_heard, n_bytes);
    assert_memory_equal(said, heard, n_bytes);
    assert_false(tls_has_unsent(from));
    assert_false(tls_has_buffered(to));
    free(said);
    free(heard);
}

static void
key_both_know_is_enough_and_the_server_learns_who_calls(void **state)
{
    uint8_t bindings[2][TLS_BINDING_BYTES];

    rig_open_by_key();
    assert_string_equal(tls_identity(rig.ends[1]), "rank 0 to 1");
    for (int i = 0; i < 2; i++)
        assert_ok(tls_channel_binding(rig.ends[i], bindings[i]));
    assert_memory_equal(bindings[0], bindings[1], TLS_BINDING_BYTES);
    rig_close();
    rig_open_by_key();
    assert_ok(tls_channel_binding(rig.ends[0], bindings[1]));
    assert_memory_not_equal(bindings[0], bindings[1], TLS_BINDING_BYTES);
    rig_close();
}

static void
stream_carries_all_sizes_both_ways(void **state)
{
    static const size_t sizes[] = {1,     127,    16384,  16385, 50000,
                                   65536, 131072, 262145, LARGE};

    rig_open_by_key();
    for (int i = 0; i < 2; i++)
        assert_ok(tls_allow_read_ahead(rig.ends[i]));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        carry(rig.ends[0], rig.ends[1], sizes[i]);
        carry(rig.ends[1], rig.ends[0], sizes[i]);
    }
    rig_close();
}

/* What comes behind a record is the socket's until then. */
static void
nothing_is_read_ahead_before_the_stream(void **state)
{
    uint8_t bytes[16];
    const struct iovec span = {bytes, 5};
    const struct iovec room = {bytes, sizeof(bytes)};

    rig_open_by_key();
    assert_int_equal(tls_send(rig.ends[0], &span, 1), 5);
    assert_int_equal(send(rig.fds[0], "plain", 5, 0), 5);
    assert_int_equal(tls_receive(rig.ends[1], &room, 1), 5);
    assert_int_equal(recv(rig.fds[1], bytes, sizeof(bytes), 0), 5);
    assert_memory_equal(bytes, "plain", 5);
    rig_close();
}

/* What the socket does not take is owed, and never asked for again. */
static void
full_socket_is_owed_what_was_taken(void **state)
{
    static uint8_t bytes[LIMIT_TLS_BUFFER];
    const struct iovec span = {bytes, sizeof(bytes)};
    size_t n_sent = 0;
    ssize_t n;

    rig_open_by_key();
    assert_ok(tls_allow_read_ahead(rig.ends[1]));
    while ((n = tls_send(rig.ends[0], &span, 1)) > 0)
        n_sent += (size_t)n;
    assert_int_equal(errno, EAGAIN);
    assert_true(tls_has_unsent(rig.ends[0]));
    for (int i = 0; i < TURNS_MAX && n_sent > 0; i++) {
        n_sent -= receive_some(rig.ends[1], bytes, sizeof(bytes));
        (void)tls_send(rig.ends[0], NULL, 0);
    }
    assert_int_equal(n_sent, 0);
    assert_false(tls_has_unsent(rig.ends[0]));
    rig_close();
}

static void
flipped_bit_is_no_tls_of_this_connection(void **state)
{
    uint8_t record[256];
    const struct iovec span = {record, 100};
    const struct iovec room = {record, sizeof(record)};
    int fds[2];

    rig_open_by_key();
    assert_ok(tls_allow_read_ahead(rig.ends[1]));
    assert_int_equal(tls_send(rig.ends[0], &span, 1), 100);
    const ssize_t n = recv(rig.fds[1], record, sizeof(record), 0);
    assert_true(n > 100);
    record[50] ^= 1;
    /* Back to where it is read from, by another way. */
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    assert_int_equal(send(fds[0], record, (size_t)n, 0), n);
    assert_int_equal(dup2(fds[1], rig.fds[1]), rig.fds[1]);
    assert_int_equal(tls_receive(rig.ends[1], &room, 1), -1);
    assert_int_equal(errno, EPROTO);
    assert_non_null(strstr(tls_error_text(rig.ends[1]), "bad record mac"));
    close(fds[0]);
    close(fds[1]);
    rig_close();
}

static void
end_of_the_stream_is_the_sockets(void **state)
{
    uint8_t bytes[100];
    const struct iovec span = {bytes, sizeof(bytes)};

    rig_open_by_key();
    assert_ok(tls_allow_read_ahead(rig.ends[1]));
    assert_int_equal(tls_send(rig.ends[0], &span, 1), 100);
    shutdown(rig.fds[0], SHUT_WR);
    assert_int_equal(tls_receive(rig.ends[1], &span, 1), 100);
    assert_int_equal(tls_receive(rig.ends[1], &span, 1), 0);
    rig_close();
}

static void
assert_refused(const struct tls_options *client,
               const struct tls_options *server,
               const char *why)
{
    uint8_t byte;
    const struct iovec room = {&byte, 1};
    enum hoop_status outcomes[2];

    rig_open(client, server);
    shake(outcomes);
    assert_int_equal(outcomes[1], HOOP_E_UNAUTHENTICATED);
    if (!strstr(tls_error_text(rig.ends[1]), why))
        fail_msg("'%s' is not '%s'", tls_error_text(rig.ends[1]), why);
    /* The client knows it at the latest when it reads. */
    if (outcomes[0] == HOOP_OK) {
        assert_int_equal(tls_receive(rig.ends[0], &room, 1), -1);
        assert_int_equal(errno, EPROTO);
    } else {
        assert_int_equal(outcomes[0], HOOP_E_UNAUTHENTICATED);
    }
    assert_true(*tls_error_text(rig.ends[0]));
    rig_close();
}

static void
other_key_is_refused(void **state)
{
    const struct tls_options right = {.key = right_key};
    const struct tls_options wrong = {.key = wrong_key};

    assert_refused(&wrong, &right, "binder does not verify");
}

static void
certificates_of_one_ca_are_believed(void **state)
{
    const struct tls_options options = {.files = certificates_of("good", "ca")};
    enum hoop_status outcomes[2];

    rig_open(&options, &options);
    shake(outcomes);
    assert_ok(outcomes[0]);
    assert_ok(outcomes[1]);
    assert_string_equal(tls_identity(rig.ends[1]), "");
    rig_close();
}

/* Nobody's certificate counts where a key is to be known. */
static void
assert_refused_by_client(const struct tls_options *client,
                         const struct tls_options *server)
{
    enum hoop_status outcomes[2];

    rig_open(client, server);
    shake(outcomes);
    assert_int_equal(outcomes[0], HOOP_E_UNAUTHENTICATED);
    rig_close();
}

static void
certificates_that_are_not_good_are_refused(void **state)
{
    const struct tls_options good = {.files = certificates_of("good", "ca")};
    const struct tls_options late = {.files = certificates_of("late", "ca")};
    const struct tls_options foreign = {.files =
                                            certificates_of("stranger", "ca")};
    const struct tls_options none = {.files = certificates_of(NULL, "ca")};
    const struct tls_options key = {.key = right_key};

    assert_refused(&late, &good, "certificate has expired");
    assert_refused(&foreign, &good, "unable to get local issuer certificate");
    assert_refused(&none, &good, "peer did not return a certificate");
    assert_refused_by_client(&key, &good);
}

/* A server's own is looked at by the client, whose alert the server reads. */
static void
certificate_of_a_server_is_looked_at(void **state)
{
    const struct tls_options good = {.files = certificates_of("good", "ca")};
    const struct tls_options late = {.files = certificates_of("late", "ca")};
    const struct tls_options named = {.files = certificates_of("good", "ca"),
                                      .name = "good"};
    const struct tls_options misnamed = {.files = certificates_of("good", "ca"),
                                         .name = "bad"};
    enum hoop_status outcomes[2];

    assert_refused(&good, &late, "alert certificate expired");
    assert_refused(&misnamed, &good, "alert");
    rig_open(&named, &good);
    shake(outcomes);
    assert_ok(outcomes[0]);
    rig_close();
}

/* Of "name", from 2 days ago to end_s from now, at clock_s from now; a
 * minute is let pass for slow machines. */
static void
assert_dates(const char *text, const char *name, int64_t end_s, int64_t clock_s)
{
    static const char form[] = "%Y-%m-%d %H:%M:%S";
    const char *at = strstr(text, "the certificate of /CN=");
    const time_t now = time(NULL);
    struct tm dates[3] = {0};
    char said[32];

    if (!at)
        fail_msg("no dates are in '%s'", text);
    at += strlen("the certificate of /CN=");
    assert_int_equal(sscanf(at, "%31s", said), 1);
    assert_string_equal(said, name);
    at = strptime(strstr(at, "from ") + 5, form, &dates[0]);
    at = strptime(at + strlen(" to "), form, &dates[1]);
    at = strptime(at + strlen(" UTC, and the clock of this host says "), form,
                  &dates[2]);
    assert_string_equal(at,
                        " UTC: renew the certificate, or set the clock that "
                        "is wrong");
    assert_in_range(now + end_s - timegm(&dates[1]), 0, 60);
    assert_in_range(now + clock_s - timegm(&dates[2]), 0, 60);
    assert_in_range(now - 2 * DAY_S - timegm(&dates[0]), 0, 60);
}

/* Who has what is not valid now is told when it starts. */
static void
own_certificate_that_is_not_valid_now_is_told_with_its_dates(void **state)
{
    const struct {
        struct tls_files files;
        int64_t clock_s;
        const char *text;
        const char *name;
        int64_t end_s;
    } rows[] = {
        {certificates_of("late", "ca"), 0, "late.pem has expired: ", "late",
         -DAY_S},
        {certificates_of("good", "ca"), 2 * DAY_S,
         "good.pem has expired: ", "good", DAY_S},
        {certificates_of("good", "ca"), -3 * DAY_S,
         "good.pem is not valid yet: ", "good", DAY_S},
        {certificates_of("good", "ended"), 0, "the TLS CA /", "ended", -DAY_S},
        {certificates_of(NULL, "ended"), 0, "ended.pem has expired: ", "ended",
         -DAY_S},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct tls_options options = {.files = rows[i].files};
        struct tls_context *context = NULL;

        certificates_set_clock(rows[i].clock_s);
        assert_int_equal(tls_context_create(&options, &context),
                         HOOP_E_INVALID);
        certificates_set_clock(0);
        assert_non_null(strstr(error_text(), rows[i].text));
        assert_dates(error_text(), rows[i].name, rows[i].end_s,
                     rows[i].clock_s);
    }
}

/* A server that anybody may call, too. */
static void
certificate_for_anybody_that_has_expired_is_told(void **state)
{
    const struct tls_options options = {.files = certificates_of("late", NULL),
                                        .clients = TLS_CLIENTS_ANYBODY};
    struct tls_context *context = NULL;

    assert_int_equal(tls_context_create(&options, &context), HOOP_E_INVALID);
    assert_dates(error_text(), "late", -DAY_S, 0);
}

/* The one whose certificate it is, and the one who refuses it, by his clock. */
static void
both_sides_tell_the_dates_of_a_certificate_that_is_refused(void **state)
{
    const struct tls_options good = {.files = certificates_of("good", "ca")};
    const struct tls_options late = {.files = certificates_of("late", "ca")};
    uint8_t byte;
    const struct iovec room = {&byte, 1};
    enum hoop_status outcomes[2];

    rig_open(&late, &good);
    shake(outcomes);
    assert_int_equal(outcomes[1], HOOP_E_UNAUTHENTICATED);
    assert_dates(tls_error_text(rig.ends[1]), "late", -DAY_S, 0);
    assert_int_equal(tls_receive(rig.ends[0], &room, 1), -1);
    assert_dates(tls_error_text(rig.ends[0]), "late", -DAY_S, 0);
    rig_close();

    rig_open(&good, &late);
    shake(outcomes);
    assert_dates(tls_error_text(rig.ends[0]), "late", -DAY_S, 0);
    assert_dates(tls_error_text(rig.ends[1]), "late", -DAY_S, 0);
    rig_close();

    /* The clock of who refuses has not come to the first day of both. */
    rig_open(&good, &good);
    certificates_set_clock(-3 * DAY_S);
    shake(outcomes);
    certificates_set_clock(0);
    assert_dates(tls_error_text(rig.ends[0]), "ca", DAY_S, -3 * DAY_S);
    assert_dates(tls_error_text(rig.ends[1]), "good", DAY_S, -3 * DAY_S);
    rig_close();
}

static void
side_without_tls_is_named(void **state)
{
    const struct tls_options options = {.key = right_key};

    rig_open(&options, &options);
    assert_int_equal(tls_handshake(rig.ends[0]), HOOP_E_PENDING);
    close(rig.fds[1]);
    assert_int_equal(tls_handshake(rig.ends[0]), HOOP_E_UNAVAILABLE);
    assert_non_null(strstr(error_text(), "HOOP_TLS"));
    rig.fds[1] = -1;
    rig_close();
    rig_open(&options, &options);
    assert_int_equal(send(rig.fds[0], "GET / HTTP/1.1\r\n", 16, 0), 16);
    assert_int_equal(tls_handshake(rig.ends[1]), HOOP_E_UNAUTHENTICATED);
    rig_close();
}

static void
assert_no_context(const struct tls_options *options,
                  enum hoop_status expected,
                  const char *text)
{
    struct tls_context *context = NULL;

    assert_int_equal(tls_context_create(options, &context), expected);
    if (!strstr(error_text(), text))
        fail_msg("'%s' does not say '%s'", error_text(), text);
}

static void
files_that_cannot_be_used_are_named(void **state)
{
    const struct tls_options nothing = {0};
    const struct tls_options half = {
        .files = {.certificate = certificates_path("good", "pem"),
                  .ca = certificates_path("ca", "pem")}};
    const struct tls_options no_ca = {.files = certificates_of("good", NULL)};
    const struct tls_options absent = {.files =
                                           certificates_of("absent", "ca")};
    const struct tls_options no_pem = {
        .files = {.certificate = certificates_path("good", "pem"),
                  .key = certificates_path("ca", "pem"),
                  .ca = certificates_path("ca", "pem")}};
    const struct tls_options other_key = {
        .files = {.certificate = certificates_path("good", "pem"),
                  .key = certificates_path("ca", "key"),
                  .ca = certificates_path("ca", "pem")}};

    assert_no_context(&nothing, HOOP_E_INVALID, "needs a job token");
    assert_no_context(&half, HOOP_E_INVALID, "HOOP_TLS_KEY");
    assert_no_context(&no_ca, HOOP_E_INVALID, "HOOP_TLS_CA");
    assert_no_context(&absent, HOOP_E_NOT_FOUND, "absent.pem");
    assert_no_context(&no_pem, HOOP_E_INVALID, "ca.pem cannot be used");
    assert_no_context(&other_key, HOOP_E_INVALID, "mismatch");
    tls_context_destroy(NULL);
    tls_destroy(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            key_both_know_is_enough_and_the_server_learns_who_calls),
        cmocka_unit_test(stream_carries_all_sizes_both_ways),
        cmocka_unit_test(nothing_is_read_ahead_before_the_stream),
        cmocka_unit_test(full_socket_is_owed_what_was_taken),
        cmocka_unit_test(flipped_bit_is_no_tls_of_this_connection),
        cmocka_unit_test(end_of_the_stream_is_the_sockets),
        cmocka_unit_test(other_key_is_refused),
        cmocka_unit_test(certificates_of_one_ca_are_believed),
        cmocka_unit_test(certificates_that_are_not_good_are_refused),
        cmocka_unit_test(certificate_of_a_server_is_looked_at),
        cmocka_unit_test(
            own_certificate_that_is_not_valid_now_is_told_with_its_dates),
        cmocka_unit_test(certificate_for_anybody_that_has_expired_is_told),
        cmocka_unit_test(
            both_sides_tell_the_dates_of_a_certificate_that_is_refused),
        cmocka_unit_test(side_without_tls_is_named),
        cmocka_unit_test(files_that_cannot_be_used_are_named),
    };

    return cmocka_run_group_tests(tests, certificates_make,
                                  certificates_remove);
}
