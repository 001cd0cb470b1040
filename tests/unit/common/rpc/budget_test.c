/* tests/unit/common/rpc/budget_test.c - rpc/budget.c */

#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "check.h"
#include "error_words.h"
#include "rpc/budget.h"

enum {
    ACCOUNTS = 1024,
};

static void
account_init(struct budget_account *account, struct budget *budget, int role)
{
    budget_account_init(account, budget);
    budget_account_move(account, (enum role)role);
}

/* One connection, byte by byte up to its limit and not beyond. */
static void
connection_holds_what_it_may_and_no_more(void **state)
{
    struct budget budget;
    struct budget_account account;

    for (int role = 0; role < BUDGET_ROLES; role++) {
        budget_init(&budget);
        account_init(&account, &budget, role);
        const size_t limit = budget_account_limits(&account)->connection;

        assert_ok(budget_charge(&account, limit - 1));
        assert_int_equal(budget_charge(&account, 2), HOOP_E_EXHAUSTED);
        assert_int_equal(budget_charge(&account, SIZE_MAX), HOOP_E_EXHAUSTED);
        assert_ok(budget_charge(&account, 1));
        assert_int_equal(budget_charge(&account, 1), HOOP_E_EXHAUSTED);
        assert_int_equal(budget_n_bytes(&budget), limit);
        budget_release(&account, limit);
        assert_int_equal(budget_n_bytes(&budget), 0);
        assert_ok(budget_charge(&account, limit));
    }
}

/* Many connections of a role use up its share, which leaves others theirs. */
static void
role_uses_up_its_own_share_only(void **state)
{
    static struct budget_account accounts[ACCOUNTS];
    struct budget_account other;
    struct budget budget;

    for (int role = 0; role < BUDGET_ROLES; role++) {
        size_t n = 0;

        budget_init(&budget);
        for (; n < ACCOUNTS; n++) {
            account_init(&accounts[n], &budget, role);
            if (budget_charge(
                    &accounts[n],
                    budget_account_limits(&accounts[n])->connection) != HOOP_OK)
                break;
        }
        assert_true(n < ACCOUNTS);
        assert_true(budget_n_bytes(&budget) <=
                    budget_account_limits(&accounts[0])->role);
        for (int another = 0; another < BUDGET_ROLES; another++) {
            account_init(&other, &budget, another);
            assert_int_equal(budget_charge(&other, LIMIT_RPC_SMALL_MESSAGE),
                             another == role &&
                                     budget_n_bytes(&budget) +
                                             LIMIT_RPC_SMALL_MESSAGE >
                                         budget_account_limits(&other)->role
                                 ? HOOP_E_EXHAUSTED
                                 : HOOP_OK);
        }
        assert_true(budget_n_bytes(&budget) <= LIMIT_RPC_BYTES);
    }
}

static void
refusal_names_the_limit_and_what_is_held(void **state)
{
    struct budget budget;
    struct budget_account account;

    budget_init(&budget);
    account_init(&account, &budget, ROLE_OPERATOR);
    assert_ok(budget_charge(&account, 8388600));
    assert_int_equal(budget_charge(&account, 9), HOOP_E_EXHAUSTED);
    assert_words("8388600 bytes");
    assert_words("may hold 8388608");
    assert_words("9 more");

    budget.n_bytes[ROLE_OPERATOR] = LIMIT_RPC_OPERATOR_BYTES - 5;
    assert_int_equal(budget_charge(&account, 6), HOOP_E_EXHAUSTED);
    assert_words("role operator");
    assert_words("may hold 67108864");
}

/* What a stranger holds when it proves a token is charged to the role. */
static void
bytes_move_with_their_connection(void **state)
{
    struct budget budget;
    struct budget_account account;

    budget_init(&budget);
    budget_account_init(&account, &budget);
    assert_ok(budget_charge(&account, 1000));
    assert_int_equal(budget.n_bytes[BUDGET_UNAUTHENTICATED], 1000);
    budget_account_move(&account, ROLE_WORKER);
    assert_int_equal(budget.n_bytes[BUDGET_UNAUTHENTICATED], 0);
    assert_int_equal(budget.n_bytes[ROLE_WORKER], 1000);
    budget_release(&account, 1000);
    assert_int_equal(budget_n_bytes(&budget), 0);
}

static void
strangers_may_send_little_where_tokens_are_known(void **state)
{
    struct budget budget;
    struct budget_account account;

    budget_init(&budget);
    budget_account_init(&account, &budget);
    assert_int_equal(budget_account_limits(&account)->message, 64 * 1024);
    budget_init_open(&budget);
    assert_int_equal(budget_account_limits(&account)->message,
                     LIMIT_RPC_MESSAGE);
    assert_true(budget_account_limits(&account)->connection >
                LIMIT_RPC_MESSAGE);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connection_holds_what_it_may_and_no_more),
        cmocka_unit_test(role_uses_up_its_own_share_only),
        cmocka_unit_test(refusal_names_the_limit_and_what_is_held),
        cmocka_unit_test(bytes_move_with_their_connection),
        cmocka_unit_test(strangers_may_send_little_where_tokens_are_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
