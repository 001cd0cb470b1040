/* tests/unit/common/rpc/rpc_tls_test.c - rpc/rpc_tls.c on socket pairs */

#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "certificates.h"
#include "check.h"
#include "error_words.h"
#include "rpc/rpc_tls.h"
#include "rpc/sp_stream.h"

/* The ends of one connection: of the client, the coordinator. */
struct pair {
    struct rpc_tls *seals[2];
    struct tls *ends[2];
    int fds[2];
};

static const struct tls_files none;

static void
pair_open(struct pair *pair)
{
    assert_int_equal(
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair->fds), 0);
    assert_ok(rpc_tls_connect(pair->seals[0], pair->fds[0], &pair->ends[0]));
    assert_ok(rpc_tls_accept(pair->seals[1], pair->fds[1], &pair->ends[1]));
}

static void
pair_create(struct pair *pair,
            const struct tls_files *files,
            const char *token,
            const char *secret)
{
    *pair = (struct pair){0};
    assert_ok(rpc_tls_create_client(files, token, &pair->seals[0]));
    assert_ok(rpc_tls_create_server(files, secret, &pair->seals[1]));
    pair_open(pair);
}

static void
pair_close(struct pair *pair)
{
    for (int i = 0; i < 2; i++) {
        tls_destroy(pair->ends[i]);
        rpc_tls_destroy(pair->seals[i]);
        close(pair->fds[i]);
    }
}

/* What the client makes of it; the other side's outcome is not looked at. */
static enum hoop_status
pair_shake(struct pair *pair)
{
    enum hoop_status client = HOOP_E_PENDING;
    enum hoop_status server = HOOP_E_PENDING;

    for (int i = 0; i < 10; i++) {
        if (client == HOOP_E_PENDING)
            client = rpc_tls_handshake(pair->ends[0]);
        if (server == HOOP_E_PENDING)
            server = tls_handshake(pair->ends[1]);
    }
    return client;
}

/* ---- By the token alone. */

static void
seal_by_token_is_of_every_role(void **state)
{
    struct pair pair;

    for (enum role role = ROLE_WORKER; role < ROLE_ANYBODY; role++) {
        char token[LIMIT_TOKEN];

        assert_ok(role_derive_token(role, "secret", token));
        pair_create(&pair, &none, token, "secret");
        assert_ok(pair_shake(&pair));
        pair_close(&pair);
    }
}

static void
seal_by_another_token_is_refused(void **state)
{
    struct pair pair;
    char token[LIMIT_TOKEN];

    pair_create(&pair, &none, "other", "secret");
    assert_int_equal(pair_shake(&pair), HOOP_E_UNAUTHENTICATED);
    assert_words("token");
    pair_close(&pair);

    assert_ok(role_derive_token(ROLE_METRICS, "other", token));
    pair_create(&pair, &none, token, "secret");
    assert_int_equal(pair_shake(&pair), HOOP_E_UNAUTHENTICATED);
    pair_close(&pair);
}

static void
seal_without_token_and_certificate_is_not_made(void **state)
{
    struct tls_files files = certificates_of(NULL, "ca");
    struct rpc_tls *rpc_tls = NULL;

    assert_int_equal(rpc_tls_create_server(&none, NULL, &rpc_tls),
                     HOOP_E_INVALID);
    assert_words("token");
    assert_int_equal(rpc_tls_create_server(&files, "", &rpc_tls),
                     HOOP_E_INVALID);
    assert_int_equal(rpc_tls_create_client(&none, "", &rpc_tls),
                     HOOP_E_INVALID);
    files = certificates_of("good", NULL);
    assert_int_equal(rpc_tls_create_client(&files, "secret", &rpc_tls),
                     HOOP_E_INVALID);
    assert_words("HOOP_TLS_CA");
    files = certificates_of("absent", "ca");
    assert_int_equal(rpc_tls_create_client(&files, "secret", &rpc_tls),
                     HOOP_E_NOT_FOUND);
    assert_null(rpc_tls);
}

/* ---- With certificates. */

static void
seal_without_any_token_is_by_certificates(void **state)
{
    const struct tls_files good = certificates_of("good", "ca");
    struct pair pair;

    pair_create(&pair, &good, NULL, NULL);
    assert_ok(pair_shake(&pair));
    pair_close(&pair);
}

static void
seal_foreign_and_late_certificates_are_refused(void **state)
{
    static const char *const names[] = {"late", "stranger"};
    const struct tls_files good = certificates_of("good", "ca");
    struct pair pair;

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct tls_files bad = certificates_of(names[i], "ca");

        pair = (struct pair){0};
        certificates_set_clock(CERTIFICATES_BEFORE_S);
        assert_ok(rpc_tls_create_client(&good, "secret", &pair.seals[0]));
        assert_ok(rpc_tls_create_server(&bad, "secret", &pair.seals[1]));
        certificates_set_clock(0);
        pair_open(&pair);
        assert_int_equal(pair_shake(&pair), HOOP_E_UNAUTHENTICATED);
        assert_words("certificate");
        pair_close(&pair);
    }
}

static void
seal_of_one_side_with_certificates_is_refused(void **state)
{
    const struct tls_files good = certificates_of("good", "ca");
    struct pair pair = {0};

    assert_ok(rpc_tls_create_client(&good, "secret", &pair.seals[0]));
    assert_ok(rpc_tls_create_server(&none, "secret", &pair.seals[1]));
    pair_open(&pair);
    assert_int_equal(pair_shake(&pair), HOOP_E_UNAUTHENTICATED);
    pair_close(&pair);
}

/* ---- Others. */

static void
seal_names_who_speaks_no_tls(void **state)
{
    static const char http[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    struct pair pair;

    pair_create(&pair, &none, "secret", "secret");
    assert_int_equal(send(pair.fds[1], sp_hello_reply, SP_HELLO_BYTES, 0),
                     SP_HELLO_BYTES);
    assert_int_equal(rpc_tls_handshake(pair.ends[0]), HOOP_E_UNAUTHENTICATED);
    assert_words("does not speak TLS: start hoopd with --tls on");
    pair_close(&pair);

    pair_create(&pair, &none, "secret", "secret");
    assert_int_equal(send(pair.fds[1], http, sizeof(http) - 1, 0),
                     sizeof(http) - 1);
    assert_int_equal(rpc_tls_handshake(pair.ends[0]), HOOP_E_DATA_LOSS);
    assert_words("is a hoop coordinator there?");
    pair_close(&pair);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seal_by_token_is_of_every_role),
        cmocka_unit_test(seal_by_another_token_is_refused),
        cmocka_unit_test(seal_without_token_and_certificate_is_not_made),
        cmocka_unit_test(seal_without_any_token_is_by_certificates),
        cmocka_unit_test(seal_foreign_and_late_certificates_are_refused),
        cmocka_unit_test(seal_of_one_side_with_certificates_is_refused),
        cmocka_unit_test(seal_names_who_speaks_no_tls),
    };

    return cmocka_run_group_tests(tests, certificates_make,
                                  certificates_remove);
}
