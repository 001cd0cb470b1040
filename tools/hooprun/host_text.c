/* hooprun/host_text.c - texts for agents on other hosts, and about them */

#include "hooprun/host_text.h"

#include <err.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hooprun/outcome.h"

extern char **environ;

static void
text_add(FILE *file, const char *name, const char *value)
{
    fprintf(file, "%s=%s", name, value);
    fputc('\0', file);
}

static void
number_add(FILE *file, const char *name, uint32_t value)
{
    fprintf(file, "%s=%u", name, value);
    fputc('\0', file);
}

/* Return whether to pass on a variable: one of HOOP_, except those that are set
 * anew for a worker or belong to one host. */
static bool
variable_is_passed(const char *variable, size_t n_name)
{
    static const char *const own[] = {
        "HOOP_RANK",        "HOOP_LOCAL_RANK", "HOOP_WORLD_SIZE",
        "HOOP_COORDINATOR", "HOOP_JOB",        "HOOP_ENDINGS",
        "HOOP_TOKEN",       "HOOP_TOKEN_FILE", "HOOP_ADVERTISE",
        "HOOP_NODE",        "HOOP_PROGRESS",
    };

    if (strncmp(variable, "HOOP_", 5) != 0)
        return false;
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (strlen(own[i]) == n_name && memcmp(own[i], variable, n_name) == 0)
            return false;
    }
    return true;
}

static bool
variable_is_exported(const struct options *options,
                     const char *variable,
                     size_t n_name)
{
    for (uint32_t i = 0; i < options->n_exported; i++) {
        const char *name = options->exported[i];

        if (strlen(name) == n_name && memcmp(name, variable, n_name) == 0)
            return true;
    }
    return variable_is_passed(variable, n_name);
}

static void
variables_add(FILE *file, const struct worker_setup *setup)
{
    const struct options *options = setup->options;

    for (char **variable = environ; *variable; variable++) {
        const size_t n_name = strcspn(*variable, "=");

        if (variable_is_exported(options, *variable, n_name))
            text_add(file, "variable", *variable);
    }
    for (uint32_t i = 0; i < options->n_exported; i++) {
        if (strchr(options->exported[i], '='))
            text_add(file, "variable", options->exported[i]);
    }
    if (setup->token)
        fprintf(file, "variable=HOOP_TOKEN=%s%c", setup->token, '\0');
}

/* The folder in which ssh starts a command is not this one. */
static void
folder_add(FILE *file, const struct options *options)
{
    const char *folder = options->folder ? options->folder : "";
    char own[PATH_MAX] = "";

    if (*folder != '/' && !getcwd(own, sizeof(own)))
        err(EXIT_FAILURE, "in which folder does this run?");
    fprintf(file, "folder=%s%s%s%c", own, *own && *folder ? "/" : "", folder,
            '\0');
}

char *
host_text_encode(const struct worker_setup *setup,
                 const struct host_place *place,
                 size_t *out_n_bytes)
{
    const struct options *options = setup->options;
    char *text = NULL;
    FILE *file = open_memstream(&text, out_n_bytes);

    if (!file)
        err(EXIT_FAILURE, "no memory to describe the run");
    number_add(file, "number", place->number);
    number_add(file, "n_hosts", place->n_hosts);
    number_add(file, "first_rank", place->first_rank);
    number_add(file, "n_ranks", place->n_ranks);
    number_add(file, "n_workers", options->n_workers);
    number_add(file, "n_restarts", setup->n_restarts);
    number_add(file, "has_terminal", setup->has_terminal);
    number_add(file, "is_recorded", options->is_recorded);
    number_add(file, "has_coordinator", options->coordinator != NULL);
    text_add(file, "job", options->job);
    text_add(file, "coordinator", setup->coordinator);
    folder_add(file, options);
    variables_add(file, setup);
    for (char **word = options->command; *word; word++)
        text_add(file, "word", *word);
    if (fclose(file) != 0)
        err(EXIT_FAILURE, "no memory to describe the run");
    return text;
}

/* Return the value, if the field has this name. */
static char *
value_of(char *field, const char *name)
{
    const size_t n = strlen(name);

    return strncmp(field, name, n) == 0 && field[n] == '=' ? field + n + 1
                                                           : NULL;
}

static bool
number_take(char *field, struct host_run *run)
{
    uint32_t has_terminal = 0;
    uint32_t is_recorded = 0;
    uint32_t has_coordinator = 0;
    const struct {
        const char *name;
        uint32_t *value;
    } numbers[] = {
        {"number", &run->place.number},
        {"n_hosts", &run->place.n_hosts},
        {"first_rank", &run->place.first_rank},
        {"n_ranks", &run->place.n_ranks},
        {"n_workers", &run->n_workers},
        {"n_restarts", &run->n_restarts},
        {"has_terminal", &has_terminal},
        {"is_recorded", &is_recorded},
        {"has_coordinator", &has_coordinator},
    };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        const char *value = value_of(field, numbers[i].name);

        if (!value)
            continue;
        *numbers[i].value = (uint32_t)strtoul(value, NULL, 10);
        run->has_terminal = run->has_terminal || has_terminal;
        run->is_recorded = run->is_recorded || is_recorded;
        run->has_coordinator = run->has_coordinator || has_coordinator;
        return true;
    }
    return false;
}

static void
field_take(char *field, struct host_run *run)
{
    char *value;

    if (number_take(field, run))
        return;
    if ((value = value_of(field, "job")))
        run->job = value;
    else if ((value = value_of(field, "folder")))
        run->folder = value;
    else if ((value = value_of(field, "coordinator")))
        run->coordinator = value;
    else if ((value = value_of(field, "variable")))
        run->variables[run->n_variables++] = value;
    else if ((value = value_of(field, "word")))
        run->command[run->n_words++] = value;
}

bool
host_text_decode(char *text, size_t n_bytes, struct host_run *out_run)
{
    size_t n_fields = 0;

    *out_run = (struct host_run){0};
    if (n_bytes == 0 || text[n_bytes - 1] != '\0')
        return false;
    for (size_t at = 0; at < n_bytes; at += strlen(text + at) + 1)
        n_fields++;
    out_run->variables = calloc(n_fields + 1, sizeof(char *));
    out_run->command = calloc(n_fields + 1, sizeof(char *));
    if (!out_run->variables || !out_run->command)
        return false;
    for (size_t at = 0; at < n_bytes;) {
        const size_t n = strlen(text + at) + 1;

        field_take(text + at, out_run);
        at += n;
    }
    return out_run->n_words > 0 && out_run->job && out_run->folder &&
           out_run->coordinator && out_run->place.n_ranks > 0 &&
           out_run->place.n_ranks <= OPTIONS_WORKERS_MAX;
}

void
host_run_deinit(struct host_run *run)
{
    free(run->variables);
    free(run->command);
    *run = (struct host_run){0};
}

uint16_t
host_fields_encode(const char *const *fields,
                   uint32_t n_fields,
                   char *out_bytes)
{
    size_t n = 0;

    for (uint32_t i = 0; i < n_fields; i++) {
        strcpy(out_bytes + n, fields[i]);
        n += strlen(fields[i]) + 1;
    }
    return (uint16_t)n;
}

void
host_fields_decode(const char *bytes,
                   size_t n_bytes,
                   const char **out_fields,
                   uint32_t n_fields)
{
    uint32_t i = 0;

    for (size_t at = 0; at < n_bytes && i < n_fields; i++) {
        const char *end = memchr(bytes + at, '\0', n_bytes - at);

        if (!end)
            return;
        out_fields[i] = bytes + at;
        at = (size_t)(end + 1 - bytes);
    }
}

const char *
host_program(const struct options *options)
{
    static char path[PATH_MAX];

    if (!options->prefix)
        return "hooprun";
    snprintf(path, sizeof(path), "%s/bin/hooprun", options->prefix);
    return path;
}

/* Quote the word for the shell on the other host. */
static char *
word_quote(const char *word)
{
    char *quoted = malloc(4 * strlen(word) + 3);
    char *to = quoted;

    if (!quoted)
        err(EXIT_FAILURE, "no memory for a command");
    *to++ = '\'';
    for (; *word; word++) {
        if (*word == '\'')
            to = stpcpy(to, "'\\''");
        else
            *to++ = *word;
    }
    strcpy(to, "'");
    return quoted;
}

static bool
word_is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+";

    return word[strspn(word, plain)] == '\0';
}

static bool
word_is_ssh(const char *word)
{
    const char *slash = strrchr(word, '/');

    return strcmp(slash ? slash + 1 : word, "ssh") == 0;
}

void
host_command(const struct options *options,
             const char *host,
             char *out_words[static HOST_COMMAND_MAX])
{
    /* ssh must not ask, since nobody could answer. */
    static const char *const quiet[] = {
        "-o", "BatchMode=yes",    "-o", "ConnectTimeout=20",
        "-o", "ControlMaster=no", "-T",
    };
    const char *program = host_program(options);
    static char *copy;
    static char *quoted;
    char *rest = NULL;
    size_t n = 0;

    free(copy);
    free(quoted);
    copy = strdup(options->rsh);
    quoted = word_quote(program);
    if (!copy)
        err(EXIT_FAILURE, "no memory for a command");
    for (char *word = strtok_r(copy, " \t", &rest); word && n < HOST_RSH_MAX;
         word = strtok_r(NULL, " \t", &rest))
        out_words[n++] = word;
    const bool is_ssh = n > 0 && word_is_ssh(out_words[0]);
    for (size_t i = 0; is_ssh && i < sizeof(quiet) / sizeof(quiet[0]); i++)
        out_words[n++] = (char *)(uintptr_t)quiet[i];
    out_words[n++] = (char *)(uintptr_t)host;
    out_words[n++] =
        word_is_plain(program) ? (char *)(uintptr_t)program : quoted;
    out_words[n++] = (char *)(uintptr_t) "--agent";
    out_words[n] = NULL;
}

struct advice {
    const char *words; /* part of what ssh has printed */
    const char *text;  /* in the form of advice_write() */
};

static const struct advice advices[] = {
    {"Permission denied",
     "nobody can be asked for a password here: give ssh a key "
     "(ssh-copy-id @), until '% -o BatchMode=yes @ true' works"},
    {"Host key verification failed",
     "the key that @ has shown is not the one that ssh knows, or it knows "
     "none: compare it with the key of that host; '% @' asks about a new "
     "one, ssh-keygen -R removes an old one"},
    {"Could not resolve hostname", "is the name right? '% @ true' has to work"},
    {"Connection refused",
     "does sshd run there, on the port that ssh uses? '% @ true' has to "
     "work"},
    {"timed out", "is it up, and does no firewall drop what ssh sends? "
                  "'% @ true' has to work"},
    {"No route to host", "is it up, and the address right? '% @ true' has "
                         "to work"},
    {"Network is unreachable", "is the address right, and is there a route? "
                               "'% @ true' has to work"},
};

/* Copy the last line, without its prefix and its full stop. */
static void
last_line(const char *said, char *out_line, size_t n_line)
{
    size_t n = strlen(said);

    while (n > 0 && (said[n - 1] == '\n' || said[n - 1] == '.'))
        n--;
    const char *line = memrchr(said, '\n', n);
    line = line ? line + 1 : said;
    n -= (size_t)(line - said);
    if (strncmp(line, "hooprun: ", 9) == 0) {
        line += 9;
        n -= 9;
    }
    snprintf(out_line, n_line, "%.*s", (int)n, line);
}

/* Write text with the host in place of each @, and the program that runs
 * commands there in place of each %. */
static void
advice_write(FILE *file, const char *text, const struct host_failure *failure)
{
    for (; *text; text++) {
        if (*text == '@')
            fputs(failure->host, file);
        else if (*text == '%')
            fputs(failure->rsh, file);
        else
            fputc(*text, file);
    }
}

/* Write how the program that was started here for the host has ended. */
static void
end_write(FILE *file, const struct host_failure *failure)
{
    const char *whose = failure->rsh ? failure->rsh : "its hooprun";
    const int n_whose =
        (int)(failure->rsh ? strcspn(whose, " \t") : strlen(whose));
    const int status = failure->wait_status;

    if (WIFSIGNALED(status))
        fprintf(file, "%.*s was killed by signal %d (%s)", n_whose, whose,
                WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        fprintf(file, "%.*s has ended with code %d", n_whose, whose,
                WEXITSTATUS(status));
}

static bool
failure_is_of_ssh(const struct host_failure *failure)
{
    char word[PATH_MAX];

    if (!failure->rsh)
        return false;
    snprintf(word, sizeof(word), "%.*s", (int)strcspn(failure->rsh, " \t"),
             failure->rsh);
    return word_is_ssh(word);
}

/* Return NULL if no advice is known. */
static const char *
advice_find(const struct host_failure *failure, const char *line)
{
    if (!failure->rsh)
        return NULL;
    if (strstr(line, "cannot run '"))
        return failure_is_of_ssh(failure)
                   ? "install it (openssh-client), or say what to use instead "
                     "with --rsh"
                   : "install it, or say another command with --rsh";
    for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++) {
        if (failure_is_of_ssh(failure) && strstr(line, advices[i].words))
            return advices[i].text;
    }
    return NULL;
}

static void
not_reached_write(FILE *file, const struct host_failure *failure)
{
    char line[HOST_FAILURE_BYTES / 2];

    last_line(failure->said, line, sizeof(line));
    const char *advice = advice_find(failure, line);
    if (advice) {
        fprintf(file, "%s; ", line);
        advice_write(file, advice, failure);
        return;
    }
    if (failure->rsh && WIFEXITED(failure->wait_status) &&
        WEXITSTATUS(failure->wait_status) == OUTCOME_EXIT_NOT_FOUND) {
        fprintf(file,
                "%s was not found there; install hoop there, where commands "
                "of ssh find it (PATH), or say with --prefix DIR where it is "
                "(DIR/bin/hooprun)",
                failure->program);
        return;
    }
    if (failure->rsh && WIFEXITED(failure->wait_status) &&
        WEXITSTATUS(failure->wait_status) == OPTIONS_EXIT_USAGE) {
        fputs("the hooprun there knows no --agent: it is an older one; install "
              "version " VERSION_TEXT " there",
              file);
        return;
    }
    end_write(file, failure);
    if (*line)
        fprintf(file, ": %s", line);
    if (failure->rsh)
        advice_write(file,
                     "; '% @ true' has to work; --rsh names another command",
                     failure);
}

static void
lost_write(FILE *file, const struct host_failure *failure)
{
    const int status = failure->wait_status;

    if (failure_is_of_ssh(failure) && WIFEXITED(status) &&
        WEXITSTATUS(status) == 255)
        fputs("the connection of ssh broke", file);
    else if (WIFEXITED(status) && WEXITSTATUS(status) > 128)
        fprintf(file, "hooprun's agent there was killed by signal %d (%s)",
                WEXITSTATUS(status) - 128,
                strsignal(WEXITSTATUS(status) - 128));
    else
        end_write(file, failure);
    fputs("; what ran there is ended", file);
}

void
host_failure_describe(const struct host_failure *failure,
                      char out_text[static HOST_FAILURE_BYTES])
{
    char line[HOST_FAILURE_BYTES / 2];
    FILE *file = fmemopen(out_text, HOST_FAILURE_BYTES, "w");

    out_text[0] = '\0';
    if (!file)
        return;
    fprintf(file, "host %s%s: ", failure->host,
            failure->kind >= HOST_LOST ? " is lost" : "");
    last_line(failure->said, line, sizeof(line));
    switch (failure->kind) {
    case HOST_NOT_REACHED:
        not_reached_write(file, failure);
        break;
    case HOST_LATE:
        advice_write(file,
                     failure->rsh ? "hooprun has not come up there within 60 "
                                    "s; does '% @ true' end at once?"
                                  : "hooprun has not come up there within 60 s",
                     failure);
        break;
    case HOST_OTHER_VERSION:
        fprintf(file,
                "hooprun there is of version %s, and this one of " VERSION_TEXT
                "; install the same on all hosts",
                failure->said);
        break;
    case HOST_REFUSED:
        fputs(line, file);
        break;
    case HOST_LOST:
        lost_write(file, failure);
        break;
    case HOST_SILENT:
        fprintf(file,
                "nothing was heard of it for %d s; is it up, and its network? "
                "What runs there is ended when that hears nothing of this host",
                failure->silent_s);
        break;
    }
    fclose(file);
}
