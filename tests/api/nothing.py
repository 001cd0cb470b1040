"""tests/api/nothing.py - calls every function of the API with nothing

nothing.py OUT HEADER... writes a C program. It calls each function that the
headers declare, each time in a process of its own,

- with NULL, 0 and zeroed structs: it comes back, and one that tells a status
  says HOOP_E_INVALID and which of its parameters is to blame;
- with NULL for its handles, and zeroed memory for all else it points to: the
  same;
- with nothing, from a thread with little stack: one that tells a status says
  so before it looks at anything.
"""

import re
import sys

# What does its work without any argument, and why.
OPTIONAL = {
    'hoop_init': 'the environment says all',
    'hoop_wait_all': 'no operations have ended',
    'hoop_param_redistribute': 'group NULL is that of the parameter',
}

PROGRAM = '''/* Made by tests/api/nothing.py. */

#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

%(includes)s

enum {
    LIMIT_S = 20,
    SMALL_STACK = 64 << 10,
    N_PARAMETERS_MAX = 16,
    N_PARAMETER_BYTES = 64 << 10,
};

/* What the pointers point to that are no handles: zeroes. */
static alignas(64) char zeroed[N_PARAMETERS_MAX][N_PARAMETER_BYTES];

%(callers)s
struct caller {
    const char *name;
    const char *parameters; /* " name name " */
    bool tells;             /* a status */
    bool is_optional;       /* what it is given */
    enum hoop_status (*with_nothing)(void);
    enum hoop_status (*without_handles)(void); /* NULL: it has none */
};

static const struct caller callers[] = {
%(rows)s};

/* The coordinator's library has its own. */
static const char *
error_text(void)
{
    return *hoop_error_text() ? hoop_error_text()
                              : hoop_coordinator_error_text();
}

static int
say(const struct caller *caller, const char *how, enum hoop_status status)
{
    printf("%%s %%s: %%s, \\"%%s\\"\\n", caller->name, how,
           hoop_status_name(status), error_text());
    fflush(stdout);
    return 1;
}

/* Whether the text has the name of one of the parameters. */
static bool
blames_a_parameter(const struct caller *caller)
{
    char text[4096];
    char spaced[130];
    char *rest = NULL;

    snprintf(text, sizeof(text), "%%s", error_text());
    for (char *word = strtok_r(text, " ,.:;'-()>[]", &rest); word;
         word = strtok_r(NULL, " ,.:;'-()>[]", &rest)) {
        snprintf(spaced, sizeof(spaced), " %%.127s ", word);
        if (strstr(caller->parameters, spaced))
            return true;
    }
    return false;
}

static int
check_refusal(const struct caller *caller,
              const char *how,
              enum hoop_status status)
{
    if (!caller->tells || caller->is_optional)
        return 0;
    return status == HOOP_E_INVALID && blames_a_parameter(caller)
               ? 0
               : say(caller, how, status);
}

static int
call_with_nothing(const struct caller *caller)
{
    return check_refusal(caller, "with nothing", caller->with_nothing());
}

static int
call_without_handles(const struct caller *caller)
{
    if (!caller->without_handles)
        return 0;
    return check_refusal(caller, "without handles", caller->without_handles());
}

static void *
small_run(void *owner)
{
    const struct caller *caller = owner;
    const enum hoop_status status = caller->with_nothing();

    if (status != HOOP_E_EXHAUSTED ||
        !strstr(error_text(), "bytes of stack left"))
        _exit(say(caller, "with little stack", status));
    return NULL;
}

static int
call_with_little_stack(const struct caller *caller)
{
    pthread_attr_t attributes;
    pthread_t thread;

    if (!caller->tells)
        return 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, SMALL_STACK);
    if (pthread_create(&thread, &attributes, small_run, (void *)(size_t)caller))
        return say(caller, "has no thread", HOOP_OK);
    pthread_join(thread, NULL);
    return 0;
}

static bool
passes(const struct caller *caller, int (*call)(const struct caller *))
{
    int state = 0;
    const pid_t pid = fork();

    if (pid == 0) {
        alarm(LIMIT_S);
        _exit(call(caller));
    }
    if (waitpid(pid, &state, 0) == pid && state == 0)
        return true;
    if (WIFSIGNALED(state))
        printf("%%s: %%s\\n", caller->name, strsignal(WTERMSIG(state)));
    return false;
}

int
main(void)
{
    static int (*const calls[])(const struct caller *) = {
        call_with_nothing, call_without_handles, call_with_little_stack};
    const size_t n_callers = sizeof(callers) / sizeof(callers[0]);
    int n_bad = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < n_callers; i++) {
        for (size_t j = 0; j < sizeof(calls) / sizeof(calls[0]); j++)
            n_bad += !passes(&callers[i], calls[j]);
    }
    printf("%%zu functions; %%d calls with nothing ended wrong\\n", n_callers,
           n_bad);
    return n_bad > 0 || n_callers < %(n_least)d;
}
'''

CALLER = '''static enum hoop_status
%(how)s_%(name)s(void)
{
    %(body)s
}

'''


def split_parameters(text):
    """At the commas outside of parentheses."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += {'(': 1, ')': -1}.get(letter, 0)
        if letter == ',' and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return [part.strip() for part in parts]


def is_handle(parameter):
    return re.fullmatch(r'(const )?hoop_\w+_t \*\w+', parameter) is not None


def nothing(parameter):
    """The argument that says nothing for a parameter."""
    if re.search(r'[*\[]', parameter):
        return 'NULL'
    kind = re.sub(r'\bconst\b', '', re.sub(r'\w+$', '', parameter)).strip()
    return f'({kind}){{0}}'


def zeroed(number, parameter):
    """As nothing(), but for a pointer that is no handle."""
    if is_handle(parameter) or not re.search(r'[*\[]', parameter):
        return nothing(parameter)
    if parameter.startswith('FILE'):
        return 'stderr'
    return f'(void *)zeroed[{number}]'


def calls(text):
    """(name, parameters, what it returns) of each function."""
    text = re.sub(r'/\*.*?\*/', ' ', text, flags=re.S)
    text = re.sub(r'^\s*#.*$', '', text, flags=re.M)
    for declaration in re.findall(r'\bHOOP_API\b([^;{]*);', text):
        declaration = ' '.join(declaration.split())
        found = re.match(r'(.*?)(\w+) ?\((.*)\)( HOOP_\w+.*)?$', declaration)
        if not found:
            continue  # a variable
        kind, name, inside = found.group(1), found.group(2), found.group(3)
        kind = kind.replace('HOOP_NODISCARD', '').strip()
        parameters = [] if inside in ('void', '') else split_parameters(inside)
        yield name, [p for p in parameters if p != '...'], kind


def caller(how, name, kind, arguments):
    call = f'{name}({", ".join(arguments)})'
    if kind == 'enum hoop_status':
        body = f'return {call};'
    elif kind == 'void':
        body = f'{call};\n    return HOOP_OK;'
    else:
        body = f'(void){call};\n    return HOOP_OK;'
    return CALLER % {'how': how, 'name': name, 'body': body}


def program(headers):
    """headers: (name, text) of each."""
    callers, rows = [], []
    for _, text in headers:
        for name, parameters, kind in calls(text):
            callers.append(caller('nothing', name, kind,
                                  [nothing(p) for p in parameters]))
            without = 'NULL'
            if any(is_handle(p) for p in parameters):
                without = f'handles_{name}'
                callers.append(caller('handles', name, kind, [
                    zeroed(i, p) for i, p in enumerate(parameters)]))
            names = ' '.join(re.search(r'(\w+)(\[.*)?$', p).group(1)
                             for p in parameters)
            tells = str(kind == 'enum hoop_status').lower()
            optional = str(name in OPTIONAL).lower()
            rows.append(f'    {{"{name}", " {names} ", {tells}, {optional},\n'
                        f'     nothing_{name}, {without}}},\n')
    includes = '\n'.join(f'#include "hoop/{name}"' for name, _ in headers)
    return PROGRAM % {'includes': includes, 'callers': ''.join(callers),
                      'rows': ''.join(rows), 'n_least': len(headers)}


def main():
    headers = []
    for path in sys.argv[2:]:
        with open(path, encoding='utf-8') as file:
            headers.append((path.rsplit('/', 1)[-1], file.read()))
    with open(sys.argv[1], 'w', encoding='utf-8') as out:
        out.write(program(headers))


if __name__ == '__main__':
    main()
