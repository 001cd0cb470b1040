/* tests/unit/tools/hooprun/host_list_test.c - hooprun/host_list.c and the
 * files beside it */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "hooprun/host_list.h"
#include "hooprun/host_text.h"
#include "temporary.h"

/* "a:4 b:1" */
static void
list_text(const struct host_list *list, char text[static 256])
{
    size_t n = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < list->n_hosts; i++)
        n += (size_t)snprintf(text + n, 256 - n, "%s%s:%u", i > 0 ? " " : "",
                              list->hosts[i].name, list->hosts[i].n_slots);
}

static void
list_is(const char *text, const char *expected)
{
    struct host_list list = {0};
    char error[HOST_ERROR_BYTES] = "";
    char found[256];

    assert_true(host_list_add(&list, text, error));
    list_text(&list, found);
    assert_string_equal(found, expected);
    host_list_deinit(&list);
}

static void
host_list_has_slots_and_without_them_one(void **state)
{
    list_is("a:4,b:2", "a:4 b:2");
    list_is("a,b", "a:1 b:1");
    list_is("a,b,a:2", "a:3 b:1");
    list_is("me@a:2,10.0.0.1", "me@a:2 10.0.0.1:1");
}

static void
host_list_takes_ipv6_in_brackets_and_without(void **state)
{
    list_is("[fd00::1]:4,[fd00::2]", "fd00::1:4 fd00::2:1");
    list_is("me@[fd00::1]:4", "me@fd00::1:4");
    list_is("fd00::1", "fd00::1:1");
}

static void
host_list_refuses_what_is_no_host(void **state)
{
    static const char *const wrong[] = {
        "",     "a,",     "a:",    "a:0",  "a:x",
        "a:-1", "a:4x",   "a b:1", "[a]4", "-oProxy=x",
        "a;b",  "a:5000", "$(a)",  "a\nb", "[fd00::1]:",
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct host_list list = {0};
        char error[HOST_ERROR_BYTES] = "";

        assert_false(host_list_add(&list, wrong[i], error));
        assert_non_null(strstr(error, ": "));
        host_list_deinit(&list);
    }
}

static void
host_list_is_filled_from_the_first_on(void **state)
{
    struct host_list list = {0};
    char error[HOST_ERROR_BYTES];
    char found[256];

    assert_true(host_list_add(&list, "a:4,b:4,c:4", error));
    assert_int_equal(host_list_fill(&list, 0), 12);
    assert_int_equal(host_list_fill(&list, 6), 6);
    list_text(&list, found);
    assert_string_equal(found, "a:4 b:2");
    assert_int_equal(host_list_fill(&list, 7), 6);
    host_list_deinit(&list);
}

static void
host_file_of_open_mpi_and_of_mpich_is_read(void **state)
{
    static const char text[] = "# all of them\n\n  a slots=4 max_slots=8\n"
                               "b:2 # two\nc\n";
    char path[TEMPORARY_PATH] = "host_list.XXXXXX";
    struct host_list list = {0};
    char error[HOST_ERROR_BYTES];
    char found[256];
    const int fd = temporary_file(path, sizeof(path));

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_true(host_list_read(&list, path, error));
    list_text(&list, found);
    assert_string_equal(found, "a:4 b:2 c:1");
    assert_int_equal(write(fd, "d cores=4\n", 10), 10);
    assert_false(host_list_read(&list, path, error));
    assert_string_equal(error, "'cores=4': a line is HOST, HOST:SLOTS or HOST "
                               "slots=SLOTS");
    close(fd);
    unlink(path);
    assert_false(host_list_read(&list, path, error));
    host_list_deinit(&list);
}

/* These cases test hooprun/host_text.c. */

static const char awkward[] = "a=b \"c\" 'd' $e `f` \\ \n \x01\xff";

static void
run_arrives_as_it_was_described(void **state)
{
    char first[] = "-x";
    char second[sizeof(awkward)];
    char third[] = "";
    char *command[] = {first, second, third, NULL};
    const char *exported[] = {"HOST_TEXT_TEST", "PATH=/of/workers"};
    const struct options options = {
        .n_workers = 7,
        .job = "a job=1",
        .folder = "/a folder",
        .command = command,
        .n_exported = 2,
        .exported = exported,
        .is_recorded = true,
    };
    const struct worker_setup setup = {
        .options = &options,
        .coordinator = "10.0.0.1:1,10.0.0.2:1",
        .token = "secret",
        .n_restarts = 2,
    };
    const struct host_place place = {1, 3, 4, 2};
    struct host_run run;
    size_t n_bytes = 0;

    memcpy(second, awkward, sizeof(awkward));
    assert_int_equal(setenv("HOST_TEXT_TEST", awkward, 1), 0);
    assert_int_equal(setenv("HOOP_CODEC", "zstd", 1), 0);
    assert_int_equal(setenv("HOOP_RANK", "3", 1), 0);
    char *text = host_text_encode(&setup, &place, &n_bytes);
    assert_true(host_text_decode(text, n_bytes, &run));

    assert_memory_equal(&run.place, &place, sizeof(place));
    assert_int_equal(run.n_workers, 7);
    assert_int_equal(run.n_restarts, 2);
    assert_false(run.has_coordinator);
    assert_true(run.is_recorded);
    assert_string_equal(run.job, "a job=1");
    assert_string_equal(run.folder, "/a folder");
    assert_string_equal(run.coordinator, "10.0.0.1:1,10.0.0.2:1");
    assert_int_equal(run.n_words, 3);
    assert_string_equal(run.command[0], "-x");
    assert_string_equal(run.command[1], awkward);
    assert_string_equal(run.command[2], "");
    assert_null(run.command[3]);

    uint32_t n_found = 0;
    for (uint32_t i = 0; i < run.n_variables; i++) {
        assert_null(strstr(run.variables[i], "HOOP_RANK="));
        n_found += strcmp(run.variables[i], "HOOP_TOKEN=secret") == 0;
        n_found += strcmp(run.variables[i], "HOOP_CODEC=zstd") == 0;
        n_found += strcmp(run.variables[i], "PATH=/of/workers") == 0;
        n_found += strncmp(run.variables[i], "HOST_TEXT_TEST=", 15) == 0 &&
                   strcmp(run.variables[i] + 15, awkward) == 0;
    }
    assert_int_equal(n_found, 4);
    host_run_deinit(&run);
    free(text);
}

static void
folder_of_a_run_does_not_depend_on_where_it_arrives(void **state)
{
    char word[] = "c";
    char *command[] = {word, NULL};
    struct options options = {
        .job = "j",
        .folder = "down/here",
        .command = command,
    };
    const struct worker_setup setup = {.options = &options, .coordinator = "b"};
    struct host_run run;
    size_t n_bytes = 0;
    char *own = getcwd(NULL, 0);
    char *text =
        host_text_encode(&setup, &(struct host_place){0, 1, 0, 1}, &n_bytes);

    assert_true(host_text_decode(text, n_bytes, &run));
    assert_memory_equal(run.folder, own, strlen(own));
    assert_string_equal(run.folder + strlen(own), "/down/here");
    host_run_deinit(&run);
    free(text);

    options.folder = NULL;
    text = host_text_encode(&setup, &(struct host_place){0, 1, 0, 1}, &n_bytes);
    assert_true(host_text_decode(text, n_bytes, &run));
    assert_string_equal(run.folder, own);
    host_run_deinit(&run);
    free(text);
    free(own);
}

/* Cut anywhere, it is not complete, or lacks words of the command. */
static void
run_that_is_cut_is_refused(void **state)
{
    char whole[] = "n_ranks=1\0job=a\0folder=/\0coordinator=b:1\0word=c";
    struct host_run run;

    for (size_t n_bytes = 0; n_bytes < sizeof(whole); n_bytes++) {
        char text[sizeof(whole)];

        memcpy(text, whole, sizeof(whole));
        assert_false(host_text_decode(text, n_bytes, &run));
        host_run_deinit(&run);
    }
    assert_true(host_text_decode(whole, sizeof(whole), &run));
    host_run_deinit(&run);
}

static void
command_is(const struct options *options, const char *expected)
{
    char *words[HOST_COMMAND_MAX];
    char text[1024];
    size_t n = 0;

    host_command(options, "me@b", words);
    for (size_t i = 0; words[i]; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s|", words[i]);
    assert_string_equal(text, expected);
}

static void
command_for_ssh_asks_nothing(void **state)
{
    command_is(&(struct options){.rsh = "ssh -p 22"},
               "ssh|-p|22|-o|BatchMode=yes|-o|ConnectTimeout=20|-o|"
               "ControlMaster=no|-T|me@b|hooprun|--agent|");
    command_is(&(struct options){.rsh = " podman exec  -i", .prefix = "/opt"},
               "podman|exec|-i|me@b|/opt/bin/hooprun|--agent|");
    command_is(&(struct options){.rsh = "rsh", .prefix = "/o's $t"},
               "rsh|me@b|'/o'\\''s $t/bin/hooprun'|--agent|");
}

static const char *rsh;

static void
failure_is(enum host_failure_kind kind,
           int wait_status,
           const char *said,
           const char *expected)
{
    const struct host_failure failure = {
        .kind = kind,
        .silent_s = 16,
        .wait_status = wait_status,
        .host = "b",
        .rsh = rsh,
        .program = "hooprun",
        .said = said,
    };
    char text[HOST_FAILURE_BYTES];

    host_failure_describe(&failure, text);
    assert_string_equal(text, expected);
}

static void
failure_to_reach_a_host_names_its_cause_first(void **state)
{
    const int refused = W_EXITCODE(255, 0);

    rsh = "ssh";
    failure_is(HOST_NOT_REACHED, W_EXITCODE(127, 0),
               "hooprun: cannot run 'ssh': No such file or directory\n",
               "host b: cannot run 'ssh': No such file or directory; install "
               "it (openssh-client), or say what to use instead with --rsh");
    failure_is(HOST_NOT_REACHED, refused,
               "A banner\nme@b: Permission denied (publickey,password).\n",
               "host b: me@b: Permission denied (publickey,password); nobody "
               "can be asked for a password here: give ssh a key (ssh-copy-id "
               "b), until 'ssh -o BatchMode=yes b true' works");
    failure_is(HOST_NOT_REACHED, refused, "Host key verification failed.\n",
               "host b: Host key verification failed; the key that b has shown "
               "is not the one that ssh knows, or it knows none: compare it "
               "with the key of that host; 'ssh b' asks about a new one, "
               "ssh-keygen -R removes an old one");
    failure_is(HOST_NOT_REACHED, refused,
               "ssh: connect to host b port 22: Connection timed out\n",
               "host b: ssh: connect to host b port 22: Connection timed out; "
               "is it up, and does no firewall drop what ssh sends? 'ssh b "
               "true' has to work");
    failure_is(HOST_NOT_REACHED, W_EXITCODE(127, 0),
               "bash: line 1: hooprun: command not found\n",
               "host b: hooprun was not found there; install hoop there, where "
               "commands of ssh find it (PATH), or say with --prefix DIR where "
               "it is (DIR/bin/hooprun)");
    failure_is(HOST_NOT_REACHED, W_EXITCODE(64, 0),
               "Try `hooprun --help' or `hooprun --usage' for more.\n",
               "host b: the hooprun there knows no --agent: it is an older "
               "one; install version " VERSION_TEXT " there");
    failure_is(HOST_NOT_REACHED, W_EXITCODE(0, SIGKILL), "",
               "host b: ssh was killed by signal 9 (Killed); 'ssh b true' has "
               "to work; --rsh names another command");
    failure_is(HOST_NOT_REACHED, W_EXITCODE(3, 0), "This account is shut.\n",
               "host b: ssh has ended with code 3: This account is shut; 'ssh "
               "b true' has to work; --rsh names another command");
}

/* With options of ssh, by another command, or on this host. */
static void
failure_names_what_was_run(void **state)
{
    rsh = "/usr/bin/ssh -p 9";
    failure_is(HOST_NOT_REACHED, W_EXITCODE(255, 0),
               "ssh: connect to host b port 9: Connection refused\n",
               "host b: ssh: connect to host b port 9: Connection refused; "
               "does sshd run there, on the port that ssh uses? "
               "'/usr/bin/ssh -p 9 b true' has to work");
    failure_is(HOST_LOST, W_EXITCODE(255, 0), "",
               "host b is lost: the connection of ssh broke; what ran there is "
               "ended");
    rsh = "podman exec -i";
    failure_is(HOST_NOT_REACHED, W_EXITCODE(125, 0),
               "Error: no container b: Permission denied\n",
               "host b: podman has ended with code 125: Error: no container "
               "b: Permission denied; 'podman exec -i b true' has to work; "
               "--rsh names another command");
    failure_is(HOST_NOT_REACHED, W_EXITCODE(127, 0),
               "hooprun: cannot run 'podman': No such file or directory\n",
               "host b: cannot run 'podman': No such file or directory; "
               "install it, or say another command with --rsh");
    failure_is(HOST_LOST, W_EXITCODE(0, SIGKILL), "",
               "host b is lost: podman was killed by signal 9 (Killed); what "
               "ran there is ended");
    rsh = NULL;
    failure_is(HOST_NOT_REACHED, W_EXITCODE(127, 0),
               "hooprun: cannot run 'hooprun': Permission denied\n",
               "host b: its hooprun has ended with code 127: cannot run "
               "'hooprun': Permission denied");
    failure_is(HOST_LATE, 0, "",
               "host b: hooprun has not come up there within 60 s");
    failure_is(HOST_LOST, W_EXITCODE(0, SIGKILL), "",
               "host b is lost: its hooprun was killed by signal 9 (Killed); "
               "what ran there is ended");
}

static void
failure_of_an_agent_says_what_to_do(void **state)
{
    rsh = "ssh";
    failure_is(HOST_LATE, 0, "",
               "host b: hooprun has not come up there within 60 s; does 'ssh b "
               "true' end at once?");
    failure_is(HOST_OTHER_VERSION, 0, "0.0.9",
               "host b: hooprun there is of version 0.0.9, and this one "
               "of " VERSION_TEXT "; install the same on all hosts");
    failure_is(HOST_REFUSED, 0, "hooprun: cannot enter /x: why; do that\n",
               "host b: cannot enter /x: why; do that");
    failure_is(HOST_LOST, W_EXITCODE(0, SIGKILL), "",
               "host b is lost: ssh was killed by signal 9 (Killed); what ran "
               "there is ended");
    failure_is(HOST_LOST, W_EXITCODE(255, 0), "",
               "host b is lost: the connection of ssh broke; what ran there is "
               "ended");
    failure_is(HOST_LOST, W_EXITCODE(137, 0), "",
               "host b is lost: hooprun's agent there was killed by signal 9 "
               "(Killed); what ran there is ended");
    failure_is(HOST_SILENT, 0, "",
               "host b is lost: nothing was heard of it for 16 s; is it up, "
               "and its network? What runs there is ended when that hears "
               "nothing of this host");
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_list_has_slots_and_without_them_one),
        cmocka_unit_test(host_list_takes_ipv6_in_brackets_and_without),
        cmocka_unit_test(host_list_refuses_what_is_no_host),
        cmocka_unit_test(host_list_is_filled_from_the_first_on),
        cmocka_unit_test(host_file_of_open_mpi_and_of_mpich_is_read),
        cmocka_unit_test(run_arrives_as_it_was_described),
        cmocka_unit_test(folder_of_a_run_does_not_depend_on_where_it_arrives),
        cmocka_unit_test(run_that_is_cut_is_refused),
        cmocka_unit_test(command_for_ssh_asks_nothing),
        cmocka_unit_test(failure_to_reach_a_host_names_its_cause_first),
        cmocka_unit_test(failure_names_what_was_run),
        cmocka_unit_test(failure_of_an_agent_says_what_to_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
