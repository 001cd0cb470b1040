"""tests/api/nothing.py - calls every function of the API with nothing

nothing.py OUT HEADER... writes a C program. It calls each function that the
headers declare with NULL, 0 and zeroed structs, in a process of its own, and
fails if one is killed by a signal or does not come back.
"""

import re
import sys

PROGRAM = '''/* Made by tests/api/nothing.py. */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

%(includes)s

enum {
    LIMIT_S = 20,
};

%(callers)s
static const struct caller {
    const char *name;
    void (*call)(void);
} callers[] = {
%(rows)s};

/* 0: it came back. */
static int
call_ends_with(const struct caller *caller)
{
    int state = 0;
    const pid_t pid = fork();

    if (pid == 0) {
        alarm(LIMIT_S);
        caller->call();
        _exit(0);
    }
    return waitpid(pid, &state, 0) == pid ? state : -1;
}

int
main(void)
{
    int n_bad = 0;

    for (size_t i = 0; i < sizeof(callers) / sizeof(callers[0]); i++) {
        const int state = call_ends_with(&callers[i]);

        if (state == 0)
            continue;
        n_bad++;
        printf("%%s: %%s\\n", callers[i].name,
               WIFSIGNALED(state) ? strsignal(WTERMSIG(state)) : "failed");
    }
    printf("%%zu functions, %%d of them cannot be called with nothing\\n",
           sizeof(callers) / sizeof(callers[0]), n_bad);
    return n_bad > 0;
}
'''

CALLER = '''static void
call_%(name)s(void)
{
    %(before)s%(call)s;
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


def nothing(parameter):
    """The argument that says nothing for a parameter."""
    if re.search(r'[*\[]', parameter):
        return 'NULL'
    kind = re.sub(r'\bconst\b', '', re.sub(r'\w+$', '', parameter)).strip()
    return f'({kind}){{0}}'


def calls(text):
    """(name, parameters, whether it returns anything) of each function."""
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
        yield name, [p for p in parameters if p != '...'], kind != 'void'


def program(headers):
    """headers: (name, text) of each."""
    callers, rows = [], []
    for _, text in headers:
        for name, parameters, returns in calls(text):
            arguments = ', '.join(nothing(p) for p in parameters)
            call = f'{name}({arguments})'
            before = f'__typeof__({call}) unused = ' if returns else ''
            caller = CALLER % {'name': name, 'before': before, 'call': call}
            callers.append(caller.replace(';\n}', ';\n    (void)unused;\n}')
                           if returns else caller)
            rows.append(f'    {{"{name}", call_{name}}},\n')
    includes = '\n'.join(f'#include "hoop/{name}"' for name, _ in headers)
    return PROGRAM % {'includes': includes, 'callers': ''.join(callers),
                      'rows': ''.join(rows)}


def main():
    headers = []
    for path in sys.argv[2:]:
        with open(path, encoding='utf-8') as file:
            headers.append((path.rsplit('/', 1)[-1], file.read()))
    with open(sys.argv[1], 'w', encoding='utf-8') as out:
        out.write(program(headers))


if __name__ == '__main__':
    main()
