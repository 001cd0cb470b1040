/* tests/unit/worker/transport/connect/handshake_test.c - transport/connect/handshake.c */

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "transport/connect/handshake.h"
#include "wire/frame.h"

enum {
    HANDSHAKE_VERSION_OFFSET = 8,
    HANDSHAKE_FROM_OFFSET = 10,
    HANDSHAKE_TO_OFFSET = 14,
    HANDSHAKE_EPOCH_OFFSET = 18,
    HANDSHAKE_INCARNATION_OFFSET = 26,
    HANDSHAKE_MAC_OFFSET = 34,
    HANDSHAKE_NONCE_OFFSET = 34,
    HANDSHAKE_STREAM_OFFSET = 66,
};

/* Rank 1 dials rank 2 of three; each has its own view of the job. */
struct scene {
    struct roster *rosters[2];
    struct handshake_key keys[2];
    struct handshake dialer;
    struct handshake acceptor;
    uint8_t hello[HANDSHAKE_MESSAGE_BYTES];
    uint8_t challenge[HANDSHAKE_MESSAGE_BYTES];
    uint8_t proof[HANDSHAKE_MESSAGE_BYTES];
    uint8_t welcome[HANDSHAKE_MESSAGE_BYTES];
};

enum side {
    DIALER,
    ACCEPTOR,
};

static void
scene_key(struct scene *scene, enum side side, const char *token)
{
    assert_ok(
        handshake_key_init(&scene->keys[side], token, scene->rosters[side]));
}

static int
scene_open(void **state)
{
    static struct scene scene;

    memset(&scene, 0, sizeof(scene));
    for (int side = 0; side < 2; side++) {
        struct roster *roster = NULL;

        assert_ok(roster_create(3, &roster));
        roster->epoch = 7;
        roster->rank = side == DIALER ? 1 : 2;
        snprintf(roster->job, sizeof(roster->job), "job");
        for (uint32_t i = 0; i < 3; i++)
            roster->members[i].incarnation = 1000 + i;
        scene.rosters[side] = roster;
        scene_key(&scene, (enum side)side, "secret");
    }
    scene.dialer = (struct handshake){
        .key = &scene.keys[DIALER], .roster = scene.rosters[DIALER], .peer = 2};
    scene.acceptor = (struct handshake){.key = &scene.keys[ACCEPTOR],
                                        .roster = scene.rosters[ACCEPTOR]};
    *state = &scene;
    return 0;
}

static int
scene_close(void **state)
{
    struct scene *scene = *state;

    roster_destroy(scene->rosters[DIALER]);
    roster_destroy(scene->rosters[ACCEPTOR]);
    return 0;
}

/* As far as the dialer's proof; both sides must agree so far. */
static void
scene_prove(struct scene *scene)
{
    assert_ok(handshake_write_hello(&scene->dialer, scene->hello));
    assert_ok(handshake_write_challenge(&scene->acceptor, scene->hello,
                                        scene->challenge));
    assert_ok(
        handshake_write_proof(&scene->dialer, scene->challenge, scene->proof));
}

static void
scene_welcome(struct scene *scene, enum handshake_answer answer)
{
    scene_prove(scene);
    assert_ok(handshake_verify_proof(&scene->acceptor, scene->proof));
    assert_ok(handshake_answer(&scene->acceptor, answer, scene->welcome));
}

static void
two_sides_that_belong_agree(void **state)
{
    static const enum handshake_answer answers[] = {
        HANDSHAKE_WELCOME, HANDSHAKE_DUPLICATE, HANDSHAKE_REFUSED,
        HANDSHAKE_NO_SHM};
    struct scene *scene = *state;

    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        enum handshake_answer answer = HANDSHAKE_REFUSED;

        scene_welcome(scene, answers[i]);
        assert_int_equal(scene->acceptor.peer, 1);
        assert_ok(
            handshake_verify_welcome(&scene->dialer, scene->welcome, &answer));
        assert_int_equal(answer, answers[i]);
    }
}

static void
answer_beyond_the_known_is_data_loss(void **state)
{
    struct scene *scene = *state;
    enum handshake_answer answer = HANDSHAKE_DUPLICATE;

    scene_prove(scene);
    assert_ok(handshake_answer(&scene->acceptor, (enum handshake_answer)5,
                               scene->welcome));
    assert_int_equal(
        handshake_verify_welcome(&scene->dialer, scene->welcome, &answer),
        HOOP_E_DATA_LOSS);
    assert_int_equal(answer, HANDSHAKE_DUPLICATE);
}

/* Neither side can prove itself to the other with what they know. */
static void
assert_strangers(struct scene *scene)
{
    enum handshake_answer answer = HANDSHAKE_REFUSED;

    scene_prove(scene);
    assert_int_equal(handshake_verify_proof(&scene->acceptor, scene->proof),
                     HOOP_E_UNAUTHENTICATED);
    assert_non_null(strstr(error_text(), "rank 1"));
    assert_non_null(strstr(error_text(), "token"));
    /* An acceptor that answers all the same. */
    assert_ok(
        handshake_answer(&scene->acceptor, HANDSHAKE_WELCOME, scene->welcome));
    assert_int_equal(
        handshake_verify_welcome(&scene->dialer, scene->welcome, &answer),
        HOOP_E_UNAUTHENTICATED);
    assert_non_null(strstr(error_text(), "rank 2"));
    assert_int_equal(answer, HANDSHAKE_REFUSED);
}

static void
another_token_proves_nothing(void **state)
{
    static const char *const tokens[] = {"", "secreu", "secret ", "Secret"};
    struct scene *scene = *state;

    for (size_t i = 0; i < 4; i++) {
        scene_key(scene, DIALER, tokens[i]);
        assert_strangers(scene);
    }
}

static void
another_job_of_the_same_token_proves_nothing(void **state)
{
    struct scene *scene = *state;

    snprintf(scene->rosters[DIALER]->job, LIMIT_NAME, "jobs");
    scene_key(scene, DIALER, "secret");
    assert_strangers(scene);
}

/* The epoch is in the key, too, not only in the fields. */
static void
key_of_another_epoch_proves_nothing(void **state)
{
    struct scene *scene = *state;

    scene->rosters[DIALER]->epoch = 8;
    scene_key(scene, DIALER, "secret");
    scene->rosters[DIALER]->epoch = 7;
    assert_strangers(scene);
}

static void
refuse_hello(struct scene *scene, const char *text)
{
    assert_int_equal(handshake_write_challenge(&scene->acceptor, scene->hello,
                                               scene->challenge),
                     HOOP_E_PRECONDITION);
    assert_non_null(strstr(error_text(), text));
    /* An answer worth sending: it tells this side's version and epoch. */
    assert_memory_equal(scene->challenge, "HOOPCHAL", 8);
    assert_int_equal(scene->challenge[HANDSHAKE_VERSION_OFFSET], FRAME_VERSION);
    assert_int_equal(scene->challenge[HANDSHAKE_EPOCH_OFFSET], 7);
}

static void
hello_that_does_not_belong_is_refused_with_the_reason(void **state)
{
    static const struct {
        unsigned at;
        uint8_t value;
        const char *text;
    } cases[] = {
        {HANDSHAKE_VERSION_OFFSET, FRAME_VERSION + 1, "version 2"},
        {HANDSHAKE_VERSION_OFFSET + 1, 1, "version 257"},
        {HANDSHAKE_EPOCH_OFFSET, 6, "epoch 6, this rank of epoch 7"},
        {HANDSHAKE_FROM_OFFSET, 3, "rank 3, which cannot be in a world of 3"},
        {HANDSHAKE_FROM_OFFSET, 2, "rank 2, which is this rank itself"},
        {HANDSHAKE_FROM_OFFSET + 3, 0xff, "cannot be in a world"},
        {HANDSHAKE_FROM_OFFSET, 0, "another incarnation of rank 0"},
        {HANDSHAKE_INCARNATION_OFFSET, 0, "another incarnation of rank 1"},
        {HANDSHAKE_TO_OFFSET, 1, "calls rank 1, but this is rank 2"},
        {HANDSHAKE_STREAM_OFFSET, LIMIT_STREAMS + 1,
         "connection number 9, of at most 8"},
    };
    struct scene *scene = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_ok(handshake_write_hello(&scene->dialer, scene->hello));
        scene->hello[cases[i].at] = cases[i].value;
        refuse_hello(scene, cases[i].text);
    }
    assert_int_equal(scene->acceptor.peer, 0);
}

static void
challenge_that_does_not_belong_is_refused_with_the_reason(void **state)
{
    static const struct {
        unsigned at;
        uint8_t value;
        const char *text;
    } cases[] = {
        {HANDSHAKE_VERSION_OFFSET, 0, "version 0"},
        {HANDSHAKE_EPOCH_OFFSET, 9, "epoch 9, this rank of epoch 7"},
        {HANDSHAKE_FROM_OFFSET, 1, "rank 1, which is this rank itself"},
        {HANDSHAKE_INCARNATION_OFFSET + 7, 1, "another incarnation of rank 2"},
    };
    struct scene *scene = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_ok(handshake_write_hello(&scene->dialer, scene->hello));
        assert_ok(handshake_write_challenge(&scene->acceptor, scene->hello,
                                            scene->challenge));
        scene->challenge[cases[i].at] = cases[i].value;
        assert_int_equal(handshake_write_proof(&scene->dialer, scene->challenge,
                                               scene->proof),
                         HOOP_E_PRECONDITION);
        assert_non_null(strstr(error_text(), cases[i].text));
    }
}

static void
challenge_of_a_member_that_was_not_called_is_refused(void **state)
{
    struct scene *scene = *state;

    scene->dialer.peer = 0;
    assert_ok(handshake_write_hello(&scene->dialer, scene->hello));
    scene->hello[HANDSHAKE_TO_OFFSET] = 2;
    assert_ok(handshake_write_challenge(&scene->acceptor, scene->hello,
                                        scene->challenge));
    assert_int_equal(
        handshake_write_proof(&scene->dialer, scene->challenge, scene->proof),
        HOOP_E_PRECONDITION);
    assert_non_null(strstr(error_text(), "rank 2 answers where rank 0"));
}

/* Which bit of which of the four messages is damaged. */
static void
flip(struct scene *scene, unsigned message, unsigned bit)
{
    uint8_t *const messages[] = {scene->hello, scene->challenge, scene->proof,
                                 scene->welcome};

    messages[message][bit / 8] ^= (uint8_t)(1 << bit % 8);
}

/* A whole handshake with one bit flipped on the way. Whether the acceptor, or
 * at the latest the dialer, has noticed. */
static enum hoop_status
run_damaged(struct scene *scene, unsigned message, unsigned bit)
{
    enum handshake_answer answer = HANDSHAKE_REFUSED;
    enum hoop_status status =
        handshake_write_hello(&scene->dialer, scene->hello);

    assert_ok(status);
    for (unsigned at = 0; at < 4 && status == HOOP_OK; at++) {
        if (at == message)
            flip(scene, message, bit);
        if (at == 0)
            status = handshake_write_challenge(&scene->acceptor, scene->hello,
                                               scene->challenge);
        else if (at == 1)
            status = handshake_write_proof(&scene->dialer, scene->challenge,
                                           scene->proof);
        else if (at == 2)
            status = handshake_verify_proof(&scene->acceptor, scene->proof);
        else
            status = handshake_verify_welcome(&scene->dialer, scene->welcome,
                                              &answer);
        if (at == 2 && status == HOOP_OK)
            status = handshake_answer(&scene->acceptor, HANDSHAKE_WELCOME,
                                      scene->welcome);
    }
    return status;
}

/* All of HELLO and CHALLENGE is signed, and what the others offer; of those the
 * MAC is checked and what stands before it, the rest is not read. */
static void
every_flipped_bit_that_is_read_is_noticed(void **state)
{
    struct scene *scene = *state;

    for (unsigned message = 0; message < 4; message++) {
        for (unsigned byte = 0; byte < HANDSHAKE_MESSAGE_BYTES; byte++) {
            const bool is_answer = message == 3 && byte == 8;
            const bool is_read = message < 2 || byte < 8 ||
                                 byte >= HANDSHAKE_MAC_OFFSET || is_answer;
            const enum hoop_status status =
                run_damaged(scene, message, 8 * byte + byte % 8);

            if (is_read && status == HOOP_OK)
                fail_msg("message %u, byte %u: not noticed", message, byte);
            if (!is_read && status != HOOP_OK)
                fail_msg("message %u, byte %u: %s", message, byte,
                         error_text());
        }
    }
}

static void
other_letters_are_no_message(void **state)
{
    static const char *const strangers[] = {"GET / HTTP/1.1\r\n",
                                            "\x16\x03\x01\x02\x00\x01\x00\x01",
                                            "HOOPHELP", "SSH-2.0-OpenSSH"};
    struct scene *scene = *state;
    enum handshake_answer answer = HANDSHAKE_REFUSED;
    uint8_t in[HANDSHAKE_MESSAGE_BYTES] = {0};

    scene_prove(scene);
    for (size_t i = 0; i < 4; i++) {
        memcpy(in, strangers[i], 8);
        assert_int_equal(
            handshake_write_challenge(&scene->acceptor, in, scene->challenge),
            HOOP_E_DATA_LOSS);
        assert_int_equal(
            handshake_write_proof(&scene->dialer, in, scene->proof),
            HOOP_E_DATA_LOSS);
        assert_int_equal(handshake_verify_proof(&scene->acceptor, in),
                         HOOP_E_DATA_LOSS);
        assert_int_equal(handshake_verify_welcome(&scene->dialer, in, &answer),
                         HOOP_E_DATA_LOSS);
    }
}

/* Each message is taken at its own place only. */
static void
message_out_of_its_turn_is_no_message(void **state)
{
    struct scene *scene = *state;
    enum handshake_answer answer = HANDSHAKE_REFUSED;
    uint8_t out[HANDSHAKE_MESSAGE_BYTES];

    scene_welcome(scene, HANDSHAKE_WELCOME);
    const uint8_t *const all[] = {scene->hello, scene->challenge, scene->proof,
                                  scene->welcome};
    for (unsigned i = 0; i < 4; i++) {
        if (i != 1)
            assert_int_equal(handshake_write_proof(&scene->dialer, all[i], out),
                             HOOP_E_DATA_LOSS);
        if (i != 2)
            assert_int_equal(handshake_verify_proof(&scene->acceptor, all[i]),
                             HOOP_E_DATA_LOSS);
        if (i != 3)
            assert_int_equal(
                handshake_verify_welcome(&scene->dialer, all[i], &answer),
                HOOP_E_DATA_LOSS);
        if (i != 0)
            assert_int_equal(
                handshake_write_challenge(&scene->acceptor, all[i], out),
                HOOP_E_DATA_LOSS);
    }
}

/* Role letters are signed: a proof sent back does not make a welcome. */
static void
proof_dressed_as_welcome_proves_nothing(void **state)
{
    struct scene *scene = *state;
    enum handshake_answer answer = HANDSHAKE_REFUSED;

    scene_prove(scene);
    memcpy(scene->welcome, scene->proof, HANDSHAKE_MESSAGE_BYTES);
    memcpy(scene->welcome, "HOOPWELC", 8);
    assert_int_equal(
        handshake_verify_welcome(&scene->dialer, scene->welcome, &answer),
        HOOP_E_UNAUTHENTICATED);
}

/* Who sends a rank's own hello back does not become its peer. */
static void
hello_reflected_to_its_sender_is_refused(void **state)
{
    struct scene *scene = *state;
    struct handshake mirror = {.key = &scene->keys[DIALER],
                               .roster = scene->rosters[DIALER]};

    assert_ok(handshake_write_hello(&scene->dialer, scene->hello));
    assert_int_equal(
        handshake_write_challenge(&mirror, scene->hello, scene->challenge),
        HOOP_E_PRECONDITION);
}

/* What was overheard is of other nonces. */
static void
replayed_hello_and_proof_prove_nothing(void **state)
{
    struct scene *scene = *state;
    struct handshake again = {.key = &scene->keys[ACCEPTOR],
                              .roster = scene->rosters[ACCEPTOR]};
    uint8_t challenge[HANDSHAKE_MESSAGE_BYTES];

    scene_welcome(scene, HANDSHAKE_WELCOME);
    assert_ok(handshake_write_challenge(&again, scene->hello, challenge));
    assert_memory_not_equal(challenge, scene->challenge,
                            HANDSHAKE_MESSAGE_BYTES);
    assert_int_equal(handshake_verify_proof(&again, scene->proof),
                     HOOP_E_UNAUTHENTICATED);
}

static void
replayed_challenge_and_welcome_prove_nothing(void **state)
{
    struct scene *scene = *state;
    struct handshake again = scene->dialer;
    enum handshake_answer answer = HANDSHAKE_REFUSED;
    uint8_t out[HANDSHAKE_MESSAGE_BYTES];

    scene_welcome(scene, HANDSHAKE_WELCOME);
    assert_ok(handshake_write_hello(&again, out));
    assert_memory_not_equal(out, scene->hello, HANDSHAKE_MESSAGE_BYTES);
    assert_ok(handshake_write_proof(&again, scene->challenge, out));
    assert_int_equal(handshake_verify_welcome(&again, scene->welcome, &answer),
                     HOOP_E_UNAUTHENTICATED);
}

static void
same_proof_for_another_rank_proves_nothing(void **state)
{
    struct scene *scene = *state;
    struct handshake other;

    scene_prove(scene);
    /* The listener believes that rank 0 sent this hello. */
    other = scene->acceptor;
    other.hello[HANDSHAKE_FROM_OFFSET] = 0;
    assert_int_equal(handshake_verify_proof(&other, scene->proof),
                     HOOP_E_UNAUTHENTICATED);
}

#define SCENE_TEST(name)                                                       \
    cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(two_sides_that_belong_agree),
        SCENE_TEST(answer_beyond_the_known_is_data_loss),
        SCENE_TEST(another_token_proves_nothing),
        SCENE_TEST(another_job_of_the_same_token_proves_nothing),
        SCENE_TEST(key_of_another_epoch_proves_nothing),
        SCENE_TEST(hello_that_does_not_belong_is_refused_with_the_reason),
        SCENE_TEST(challenge_that_does_not_belong_is_refused_with_the_reason),
        SCENE_TEST(challenge_of_a_member_that_was_not_called_is_refused),
        SCENE_TEST(every_flipped_bit_that_is_read_is_noticed),
        SCENE_TEST(other_letters_are_no_message),
        SCENE_TEST(message_out_of_its_turn_is_no_message),
        SCENE_TEST(proof_dressed_as_welcome_proves_nothing),
        SCENE_TEST(hello_reflected_to_its_sender_is_refused),
        SCENE_TEST(replayed_hello_and_proof_prove_nothing),
        SCENE_TEST(replayed_challenge_and_welcome_prove_nothing),
        SCENE_TEST(same_proof_for_another_rank_proves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
