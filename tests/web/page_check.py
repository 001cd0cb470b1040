#!/usr/bin/env python3
"""tests/web/page_check.py - what the page shows of real jobs, in a real Chromium

page_check.py HOOPD MEMBER HOOPCTL CASE runs one function check_CASE of this file. The
check exits with 77 where there is no Chromium, unless HOOP_REQUIRE_BROWSER is set.
"""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

from browser import Browser, require
from jobs import SIZE, Hoopd, Job
import kinds
import network_hosts
from programs import Wrong, environment_clean

HERE = os.path.dirname(os.path.abspath(__file__))
WEB = os.path.join(HERE, '..', '..', 'web')
CALL = 'allreduce #1 (float64, 4 elements, sum)'
SECRET = 'the token of the job'
TIME = r'\d\d:\d\d:\d\d'


def expect(what, is_true, shown=''):
    if not is_true:
        raise Wrong(f'{what}: {shown}')


def rows_when(browser, what, condition):
    """Wait until condition(rows) is true of the cells of the ranks, and return them."""
    seen = []
    try:
        browser.await_true(what, lambda: seen.append(browser.rows('#ranks')) or
                           condition(seen[-1]))
    except Wrong as error:
        raise Wrong(f'{error}, but {seen[-1:]}') from None
    return seen[-1]


def job_open(browser, hoopd, name):
    browser.open(hoopd.page)
    browser.await_text('#jobs', name)
    browser.click(f'#jobs a[href="#/job/{name}"]')
    browser.await_text('#job-title', name)


def masked(text):
    """Without the times, and who of several that wait is named, since either may have
    called first."""
    return re.sub(r'\brank \d+ \([^)]*\) and (\d+) other', r'rank R and \1 other',
                  re.sub(r'\b\d+\.\d s\b', 'T s', text))


def why(hoopd, programs, name, **settings):
    """Return what `hoopctl why` says of a job."""
    shown = subprocess.run(
        [programs['hoopctl'], '--json', 'why', name], capture_output=True, text=True,
        check=False, timeout=30,
        env=environment_clean() | {'HOOP_COORDINATOR': hoopd.address} | settings)
    return json.loads(shown.stdout or '{"kind": "", "verdict": "", "culprits": []}')


def verdict_agrees(browser, hoopd, programs, name, kind, culprits):
    """Wait until the page of a job shows the verdict of `hoopctl why`, of this kind, and
    marks these ranks, which come first. Return the sentence."""
    seen, told_at = [], []

    def agrees():
        told = why(hoopd, programs, name)
        if told['kind'] == kind:
            told_at.append(time.monotonic())
        seen[:] = [told['kind'], told['verdict'], told['culprits'],
                   browser.text('#job-verdict'), browser.text('#job-advice'),
                   [row[0] for row in browser.rows('#ranks')]]
        marked = [int(text.split()[0]) for text in seen[5] if '! ' in text]
        return (told['kind'] == kind and sorted(told['culprits']) == culprits
                and masked(seen[3]) == masked(told['verdict'])
                and masked(seen[4]) == masked(told['advice'])
                and set(marked) == set(culprits) & {
                    rank['rank'] for rank in told['ranks']}
                and all('! ' in text for text in seen[5][:len(marked)]))

    try:
        browser.await_true(f'the verdict is {kind}', agrees)
    except Wrong as error:
        raise Wrong(f'{error}, but {seen}') from None
    print(f'{kind}: {time.monotonic() - told_at[0]:.1f} s after hoopctl why: {seen[3]}')
    return seen[3]


def list_agrees(browser, hoopd, programs, *names):
    """Wait until the list of jobs shows the verdict of `hoopctl why` on each."""
    seen = []

    def agrees():
        cells = browser.rows('#jobs')
        seen[:] = [(row[0], masked(under[0]), masked(why(hoopd, programs, row[0])['verdict']))
                   for row, under in zip(cells[::2], cells[1::2])]
        return sorted(name for name, _, _ in seen) == sorted(names) and all(
            shown and shown == told for _, shown, told in seen)

    try:
        browser.await_true('the list has each verdict', agrees)
    except Wrong as error:
        raise Wrong(f'{error}, but {seen}') from None


def no_messages(browser):
    """Check that the policy has refused nothing and no script has failed."""
    told = browser.messages()
    expect('the console is silent', not told, told)


def check_running(browser, programs, folder):
    """The page shows a job, for whom its ranks wait, and its end."""
    hoopd = Hoopd(programs['hoopd'], folder)
    browser.open(hoopd.page)
    browser.await_text('#jobs-none', 'There are no jobs.')
    browser.await_text('#log', 'starts')
    job = Job(hoopd, programs['member'], 'train').ready()
    try:
        browser.await_text('#jobs', 'running')
        row, verdict = browser.rows('#jobs')
        expect('one job is listed', row[:3] == ['train', 'running', '3 of 3'], row)
        expect('it has one verdict', len(verdict) == 1, verdict)
        list_agrees(browser, hoopd, programs, 'train')
        browser.await_text('#log', 'job "train" has formed: 3 ranks on 1 host')
        job_open(browser, hoopd, 'train')
        rows = rows_when(browser, 'nobody is in a call', lambda rows: [
            row[1] for row in rows] == ['▪ in no call'] * SIZE)
        expect('ranks in order', [row[0] for row in rows] == ['0', '1', '2'], rows)
        expect('with their processes', [row[5] for row in rows] == [
            f'{socket.gethostname()}:{worker.popen.pid}' for worker in job.workers.values()], rows)
        job.tell('allreduce', 0, 1)
        rows = rows_when(browser, 'two wait for the third, which is first', lambda rows: [
            row[0] for row in rows] in (['2\n! the cause', '0', '1'],
                                        ['2\n! the cause', '1', '0']))
        expect('the third calls nothing', rows[0][1] == '▪ in no call', rows)
        expect('who waits for it', rows[0][4] in (
            'rank 0 and 1 other wait for it', 'rank 0 waits for it', 'rank 1 waits for it'), rows)
        expect('for how long', re.fullmatch(r'\d+(\.\d)? s', rows[0][3]), rows)
        for row in rows[1:]:
            expect('a rank waits', row[1] == '… waits' and row[2] == f"{CALL} of 'world'", row)
        awaiting = next(row for row in rows[1:] if row[4].startswith('rank 2 ('))
        expect('for how long', re.fullmatch(r'\d+(\.\d)? s', awaiting[3]), awaiting)
        expect('and why', 'it has not called this' in awaiting[4], awaiting)
        browser.await_text('#job-summary', '3 ranks: 1 in no call, 2 wait.')
        said = verdict_agrees(browser, hoopd, programs, 'train', 'never-calls', [2])
        expect('it names the rank', said.startswith(
            f'Rank 2 ({socket.gethostname()}:{job.workers[2].popen.pid}) is in no call'), said)
        check_spoken(browser)
        job.tell('allreduce', 2)
        for worker in job.workers.values():
            worker.expect('done')
        # For a minute, it may be told who held the others up.
        rows_when(browser, 'it goes on', lambda rows: sorted(
            [row[0][0], row[1]] for row in rows) == [
                [f'{rank}', '▪ in no call'] for rank in range(SIZE)])
        job.tell('leave', 0, 1, 2)
        verdict_agrees(browser, hoopd, programs, 'train', 'ended', [])
        browser.await_text('#job-summary', '3 ranks: 3 have left.')
        browser.await_text('#log', '3 of 3 left, 0 lost')
        browser.click('nav a')
        browser.await_text('#jobs', 'ended')
        expect('ended for how long', re.search(r'\bFor\b', browser.text('#jobs'))
               and re.fullmatch(r'\d+(\.\d)? s', browser.rows('#jobs')[0][3]),
               browser.text('#jobs'))
        list_agrees(browser, hoopd, programs, 'train')
        no_messages(browser)
    finally:
        job.end()
        hoopd.kill()


def check_spoken(browser):
    """The sentence changes each second, but a screen reader hears it once."""
    spoken = browser.text('#job-spoken')
    expect('it is spoken', masked(spoken) == masked(browser.text('#job-verdict')), spoken)
    browser.run('document.querySelector("#job-spoken").textContent = "word ".repeat(999);')
    box = browser.run('const box = document.querySelector("#job-spoken").getBoundingClientRect();'
                      'return [box.width, box.height, document.elementFromPoint('
                      '  box.right + 1, box.top)?.id === "job-spoken"];')
    expect('and not seen, however long it is', box == [1, 1, False], box)
    browser.run('document.querySelector("#job-spoken").textContent = arguments[0]', spoken)
    browser.await_true('the sentence changes', lambda: browser.text('#job-verdict') != spoken)
    expect('without another word', browser.text('#job-spoken') == spoken)


def check_faults(browser, programs, folder):
    """The page shows a stopped rank and a lost one."""
    hoopd = Hoopd(programs['hoopd'], folder)
    job = Job(hoopd, programs['member'], 'train').ready()
    other = Job(hoopd, programs['member'], 'other').ready()
    try:
        job_open(browser, hoopd, 'train')
        job.tell('allreduce', 0, 1)
        rows_when(browser, 'they wait', lambda rows: [row[1] for row in rows].count(
            '… waits') == 2)
        job.stop(2)
        rows = rows_when(browser, 'a rank is silent, and first', lambda rows: rows and
                         rows[0][:2] == ['2\n! the cause', '? gives no answer'])
        expect('why', re.match(r'no answer within 0\.8 s: stopped, dead or cut off\? '
                               r'hoopd last heard of it \d', rows[0][4]), rows)
        browser.await_text('#job-summary', '3 ranks: 1 gives no answer, 2 wait.')
        said = verdict_agrees(browser, hoopd, programs, 'train', 'stopped', [2])
        expect('it names the rank', said.startswith(
            f'Rank 2 ({socket.gethostname()}:{job.workers[2].popen.pid}) is stopped'), said)
        job.go_on(2)
        rows_when(browser, 'it answers again', lambda rows: [row[1] for row in rows].count(
            '▪ in no call') == 1)

        # No call is under way in this job, so the survivors do not end.
        job_open(browser, hoopd, 'other')
        other.workers[2].kill()
        rows = rows_when(browser, 'a rank is lost', lambda rows: rows and
                         rows[0][:2] == ['2\n! the cause', '× lost'])
        expect('why', rows[0][4].startswith('its process has ended (connection reset), '
                                            'reported by rank '), rows)
        browser.await_text('#log', 'of job "other" is lost: its process has ended')
        browser.await_text('#job-summary', '3 ranks: 1 lost, 2 in no call.')
        said = verdict_agrees(browser, hoopd, programs, 'other', 'lost', [2])
        expect('it names the rank', 'is lost: its process has ended' in said, said)
        expect('the log of one job only', 'train' not in browser.text('#log'))
        other.tell('shrink', 0, 1)
        browser.await_text('#log', 'job "other" has shrunk from 3 to 2 ranks, communicator')
        expect('as a row of its own', browser.text('#log li .chip') == 'shrink',
               browser.text('#log'))
        browser.click('nav a')
        browser.await_text('#jobs', 'running, with losses')
        browser.await_text('#jobs', '2 of 3, 1 lost')
        list_agrees(browser, hoopd, programs, 'train', 'other')
        no_messages(browser)
    finally:
        job.end()
        other.end()
        hoopd.kill()


def check_mismatch(browser, programs, folder):
    """The page tells of two different calls while the ranks live, and of the end when
    they have died of it."""
    hoopd = Hoopd(programs['hoopd'], folder, '--lease=3')
    job = Job(hoopd, programs['member'], 'train').ready()
    other = Job(hoopd, programs['member'], 'other').ready()
    try:
        # These go on after an error.
        job_open(browser, hoopd, 'other')
        other.tell('try', 0, 1)
        other.tell('differ', 2)
        said = verdict_agrees(browser, hoopd, programs, 'other', 'mismatch', [0, 1, 2])
        expect('it names the calls', said.startswith(
            'The ranks call different things: allreduce #1 (') and 'but rank' in said, said)

        job_open(browser, hoopd, 'train')
        rows_when(browser, 'all are there', lambda rows: len(rows) == SIZE)
        job.tell('allreduce', 0)
        job.tell('barrier', 1, 2)
        for worker in job.workers.values():
            worker.code()
        browser.await_text('#job-verdict', 'The job ended ', 60)
        first, = why(hoopd, programs, 'train')['culprits']
        said = verdict_agrees(browser, hoopd, programs, 'train', 'ended-lost', [first])
        expect('it names the rank', re.match(
            rf'The job ended .* ago, and rank {first} \(.* was lost first: ', said), said)
        browser.await_text('#job-summary', '3 ranks: 3 lost.')
        expect('why is in the log', browser.text('#log').count('of job "train" is lost: ')
               == SIZE, browser.text('#log'))
        browser.click('nav a')
        list_agrees(browser, hoopd, programs, 'train', 'other')
        no_messages(browser)
    finally:
        job.end()
        other.end()
        hoopd.kill()


def check_missing(browser, programs, folder):
    """While a job forms, the page says who has not come."""
    hoopd = Hoopd(programs['hoopd'], folder)
    job = Job(hoopd, programs['member'], 'train', SIZE + 1, absent=(2,))
    try:
        browser.open(hoopd.page)
        browser.await_text('#jobs', '3 of 4')
        list_agrees(browser, hoopd, programs, 'train')
        job_open(browser, hoopd, 'train')
        said = verdict_agrees(browser, hoopd, programs, 'train', 'missing', [2])
        expect('it names the rank', said.startswith('The job waits for rank 2 to join; 3 of 4'),
               said)
        browser.await_text('#job-summary', 'Missing: ')
        no_messages(browser)
    finally:
        job.end()
        hoopd.kill()


def is_kind_shown(browser, job, kind):
    """Whether the page of the job shows the sentence of the kind, and marks the ranks."""
    marked = [int(row[0].split()[0]) for row in browser.rows('#ranks') if '! ' in row[0]]
    # One that has not come has no row.
    ranks_agree = kind.make == kinds.missing or kinds.are_culprits(job, kind, marked)
    return ranks_agree and kinds.is_sentence(job, kind, browser.text('#job-verdict'))


def check_kind(browser, programs, folder, name, hosts):
    """The page, opened before the fault, names the rank and the cause in time."""
    kind = kinds.KINDS[name]
    job = kinds.FaultyJob([programs[key] for key in ('hoopd', 'hoopctl', 'member')], folder,
                    kind.size, kind.at, hosts if kind.links else None)
    try:
        steps = kind.make(job)
        next(steps)
        browser.open(job.page + '#/job/train')
        browser.await_true('the page shows the job', lambda: browser.rows('#ranks'))
        named = kinds.Named(job, name)
        next(steps, None)
        browser.await_true('the page names it', lambda: is_kind_shown(browser, job, kind))
        named.check('the page')
        browser.open('about:blank')
    except Wrong as error:
        raise Wrong(f'{name}: {error}, but "{browser.text("#job-verdict")}", '
                    f'{browser.rows("#ranks")}') from None
    finally:
        job.end()


def check_kinds_of(browser, programs, folder, hosts):
    for name in kinds.PAGE_KINDS:
        if kinds.KINDS[name].links == bool(hosts):
            os.mkdir(f'{folder}/{name}')
            check_kind(browser, programs, f'{folder}/{name}', name, hosts)
            no_messages(browser)


def check_kinds(browser, programs, folder):
    """Each kind of fault that hoopctl why names."""
    check_kinds_of(browser, programs, folder, None)


def check_links(browser, programs, folder):
    """Those of links, between hosts."""
    hosts = kinds.hosts_make(max(kind.size for kind in kinds.KINDS.values()))
    try:
        check_kinds_of(browser, programs, folder, hosts)
    finally:
        hosts.close()


def check_restart(browser, programs, folder):
    """When hoopd is killed and started again, the page says so and goes on."""
    hoopd = Hoopd(programs['hoopd'], folder, f'--data-dir={folder}/data')
    job = Job(hoopd, programs['member'], 'train').ready()
    try:
        job_open(browser, hoopd, 'train')
        browser.await_text('#connection', 'Connected.')
        rows_when(browser, 'all are there', lambda rows: len(rows) == SIZE)
        hoopd.kill()
        killed = time.monotonic()
        browser.await_text('#connection', 'hoopd is silent')
        said = browser.text('#connection')
        expect('since when', re.fullmatch(
            rf'hoopd is silent: nothing heard since {TIME}\. Connecting again\.', said), said)
        expect('what was known stays', len(browser.rows('#ranks')) == SIZE)
        # So long that it is worth a line in the log.
        browser.await_true('it is silent for long', lambda: time.monotonic() - killed > 5)
        hoopd.start()
        browser.await_text('#connection', 'Connected.')
        log = browser.await_text('#log', 'starts again') and browser.text('#log')
        expect('it says what it knows', re.search(
            rf'{TIME}\s+hoopd\s+hoopd \S+ starts again with 1 job and 3 members; '
            r'its log of them begins here$', log, re.M), log)
        expect('and the page for how long it knew nothing', re.search(
            rf'{TIME}\s+this page\s+it heard nothing of hoopd until {TIME}, for \d+(\.\d)? s$',
            log, re.M), log)
        job.tell('allreduce', 0, 1)
        rows_when(browser, 'the job goes on', lambda rows: [row[1] for row in rows].count(
            '… waits') == 2)
        starts = browser.run('return [...document.querySelectorAll("#log .text")]'
                             '.filter((node) => / starts\\b/.test(node.innerText)).length')
        expect('both starts are in the log', starts == 2, browser.text('#log'))
        expect('of an earlier start nothing is lost', 'has formed' in browser.text('#log'))
        # A page that comes later sees where the log begins.
        browser.do('refresh')
        browser.await_text('#log', 'its log of them begins here')
        expect('of an earlier start there is nothing', 'has formed' not in browser.text('#log'))
        no_messages(browser)
    finally:
        job.end()
        hoopd.kill()


def check_forgotten(browser, programs, folder):
    """A hoopd without a folder for its data knows nothing of the job when it is started
    again. The page says so, and until when what it shows was true."""
    hoopd = Hoopd(programs['hoopd'], folder)
    job = Job(hoopd, programs['member'], 'train').ready()
    try:
        job_open(browser, hoopd, 'train')
        rows_when(browser, 'all are there', lambda rows: len(rows) == SIZE)
        hoopd.kill()
        browser.await_text('#connection', 'hoopd is silent')
        hoopd.start()
        browser.await_text('#connection', 'Connected.')
        browser.await_text('#job-error', 'Below is what was known of it at ')
        said = browser.text('#job-error')
        expect('why, and when it was known', re.fullmatch(
            rf'.*"train".*\. Below is what was known of it at {TIME}\.', said), said)
        expect('what was known stays', len(browser.rows('#ranks')) == SIZE)
        browser.await_text('#log', 'starts; there are no jobs yet')
        no_messages(browser)
    finally:
        job.end()
        hoopd.kill()


def token_of(programs, role):
    return subprocess.run(
        [programs['hoopctl'], 'token', role], capture_output=True, text=True, check=True,
        env=os.environ | {'HOOP_TOKEN': SECRET}).stdout.strip()


def check_token(browser, programs, folder):
    """The page asks for the operator's token, once, and scripts cannot read it."""
    hoopd = Hoopd(programs['hoopd'], folder, HOOP_TOKEN=SECRET)
    job = Job(hoopd, programs['member'], 'train').ready()
    try:
        browser.open(hoopd.page)
        browser.await_text('#token-form', 'hoopctl token operator')
        expect('nothing else is shown', not browser.text('#jobs-view')
               and not browser.text('#log'))
        for shown, words in (('guess', 'this is not the token'),
                             (SECRET, "a job's own token is not for HTTP"),
                             (token_of(programs, 'metrics'), 'this is one for role metrics')):
            browser.type('#token', shown)
            browser.press('Enter')
            browser.await_text('#token-error', words)
            expect('the field is empty again', browser.run(
                'return document.querySelector("#token").value') == '')
        browser.type('#token', token_of(programs, 'operator'))
        browser.click('#token-form button')
        browser.await_text('#jobs', 'train')
        expect('the form is gone', not browser.text('#token-form'))
        expect('scripts see no cookie', browser.run('return document.cookie') == '')
        cookie, = browser.call('GET', browser.session + '/cookie')
        expect('the cookie is not the token', cookie['httpOnly']
               and cookie['sameSite'] == 'Strict'
               and re.fullmatch('[0-9a-f]{64}', cookie['value']), cookie)
        browser.open(hoopd.page)
        browser.await_text('#jobs', 'train')
        # Sessions end with hoopd.
        hoopd.kill()
        browser.await_text('#connection', 'hoopd is silent')
        hoopd.start()
        browser.await_text('#token-form', 'hoopctl token operator')
        no_messages(browser)
    finally:
        job.end()
        hoopd.kill()


def json_of(path):
    """Return what is in a file; None while it is missing or being written."""
    try:
        with open(path, encoding='utf-8') as saved:
            return json.load(saved)
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def check_keep(browser, programs, folder):
    """By keyboard, what a job is in is saved as JSON, also where hoopd has a token, and the
    command that makes a trace is copied; it makes one."""
    records = f'{folder}/records'
    os.mkdir(records, 0o700)
    hoopd = Hoopd(programs['hoopd'], folder, HOOP_TOKEN=SECRET, HOOP_RECORDER_DIR=records)
    job = Job(hoopd, programs['member'], 'train').ready()
    try:
        browser.cdp('Browser.setDownloadBehavior', behavior='allow', downloadPath=folder)
        browser.cdp('Browser.grantPermissions',
                    permissions=['clipboardReadWrite', 'clipboardSanitizedWrite'])
        browser.open(hoopd.page + '#/job/train')
        browser.await_text('#token-form', 'hoopctl token operator')
        browser.type('#token', token_of(programs, 'operator'))
        browser.press('Enter')
        job.tell('allreduce', 0, 1)
        browser.await_text('#job-verdict', 'Rank 2 ')
        browser.run('document.querySelector("#job-json").focus()')
        browser.press('Enter')
        told = browser.await_true('it is saved', lambda: json_of(f'{folder}/train.json'))
        expect('the verdict', masked(told['verdict']) == masked(
            why(hoopd, programs, 'train', HOOP_TOKEN=SECRET)['verdict']), told)
        expect('the ranks', [rank['rank'] for rank in told['ranks']] == [0, 1, 2]
               and 'allreduce' in told['ranks'][0]['activity']['call'], told)
        check_copy(browser)
        job.tell('allreduce', 2)
        for worker in job.workers.values():
            worker.expect('done')
        subprocess.run(
            ['sh', '-c', browser.text('#record-command')], cwd=folder, check=True, timeout=30,
            env=environment_clean() | {
                'HOOP_RECORDER_DIR': records,
                'PATH': os.path.dirname(programs['hoopctl']) + ':' + os.environ['PATH']})
        with open(f'{folder}/trace.json', encoding='utf-8') as trace:
            names = {event.get('name', '') for event in json.load(trace)['traceEvents']}
        expect('the call is in the trace', any('allreduce' in name for name in names), names)
        no_messages(browser)
    finally:
        job.end()
        hoopd.kill()


def check_copy(browser):
    """The command is in the clipboard, or selected where there is none."""
    command = browser.text('#record-command')
    browser.press('Tab')
    expect('the button is next', browser.run('return document.activeElement.id') == 'copy')
    browser.press('Enter')
    browser.await_text('#copied', 'Copied.')
    found = browser.do('execute/async', args=[], script=(
        'const done = arguments[0]; navigator.clipboard.readText().then(done, String);'))
    expect('it is copied', found == command, found)
    browser.run('Object.defineProperty(navigator, "clipboard", { value: undefined });')
    browser.press('Enter')
    browser.await_text('#copied', 'Selected: copy it with Ctrl+C.')
    found = browser.run('return getSelection().toString()')
    expect('it is selected', found == command, found)


def answer_of(hoopd, path, **fields):
    connection = http.client.HTTPConnection('localhost', hoopd.http_port, timeout=30)
    try:
        connection.putrequest('GET', path, skip_host=True)
        for name, value in fields.items():
            connection.putheader(name.replace('_', '-'), value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()


def check_host(_browser, programs, folder):
    """A foreign name that points here and other origins read nothing."""
    hoopd = Hoopd(programs['hoopd'], folder)
    try:
        for host, status in (('localhost', 200), (f'127.0.0.1:{hoopd.http_port}', 200),
                             ('[::1]', 200), (socket.gethostname(), 200),
                             ('evil.example', 421), ('', 400)):
            for path in ('/', '/api/jobs'):
                found, fields, text = answer_of(hoopd, path, Host=host)
                expect(f'{path} for "{host}"', found == status, text)
                expect('no other origin', not [
                    name for name in fields if name.startswith('Access-Control')], fields)
        expect('not for another site\'s script', answer_of(
            hoopd, '/api/jobs', Host='localhost', Sec_Fetch_Site='cross-site')[0] == 403)
        expect('probes as ever', answer_of(hoopd, '/healthz', Host='x') == (200, {
            'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': '3',
            'Cache-Control': 'no-store', 'Connection': 'close'}, 'ok\n'))
    finally:
        hoopd.kill()


def check_use(browser, programs, folder):
    """The page can be used by keyboard and on a phone, is dark where that is preferred,
    and says what a bar of the timeline is."""
    hoopd = Hoopd(programs['hoopd'], folder)
    job = Job(hoopd, programs['member'], 'train').ready()
    focused = 'return document.activeElement.id || document.activeElement.textContent'
    try:
        browser.open(hoopd.page)
        browser.await_text('#jobs', 'train')
        browser.press('Tab')
        expect('first a way past the head', browser.run(focused) == 'Skip to the jobs')
        for _ in range(2):
            browser.press('Tab')
        expect('then the job', browser.run(focused) == 'train', browser.run(focused))
        # The list is written every second, and the focus must stay.
        browser.await_true('the age grows', lambda: browser.run(
            'window.age ??= document.querySelector("#jobs").innerText;'
            'return window.age !== document.querySelector("#jobs").innerText'))
        browser.press('Enter')
        job.tell('allreduce', 0, 1)
        rows_when(browser, 'they wait', lambda rows: [row[1] for row in rows].count(
            '… waits') == 2)
        browser.await_true('there is a timeline', lambda: browser.text('#timeline-title'))
        browser.run('document.querySelector("#timeline").focus()')
        browser.press('Down', 'Down', 'Down', 'Enter')
        browser.await_text('#timeline-bar', 'Rank 2, from ')
        browser.await_text('#timeline-bar', ': in no call.')
        browser.press('Up', 'Right', 'Right', 'Enter')
        browser.await_text('#timeline-bar', f": in {CALL} of 'world', waits for rank ")
        check_frame(browser)
        check_zoom(browser)
        check_click(browser)
        check_before(browser)
        check_order(browser)
        check_roles(browser)
        for scheme in ('dark', 'light'):
            browser.media(scheme, 'reduce')
            browser.await_true(f'it is {scheme}', lambda s=scheme: (browser.run(
                'return getComputedStyle(document.body).backgroundColor')
                == 'rgb(255, 255, 255)') == (s == 'light'))
            check_contrast(browser, scheme)
        check_phone(browser)
        no_messages(browser)
    finally:
        job.end()
        hoopd.kill()


def check_order(browser):
    """Tab goes through the page from above to below, and nothing takes it twice."""
    browser.run('document.activeElement.blur(); scrollTo(0, 0);'
                'getSelection().removeAllRanges();')
    browser.run('document.querySelector(".skip").focus()')
    seen = []
    for _ in range(8):
        seen.append(browser.run(
            'const at = document.activeElement; return at.id || at.textContent'))
        browser.press('Tab')
    expect('the order of the focus', seen == [
        'Skip to the jobs', 'hoop', 'All jobs', 'zoom-in', 'zoom-out', 'timeline', 'job-json',
        'copy'], seen)
    browser.run('document.querySelector("#zoom-in").focus()')
    shown = browser.text('#timeline-span')
    browser.press('Enter')
    browser.await_true('Enter zooms', lambda: browser.text('#timeline-span') != shown)


def check_roles(browser):
    """A screen reader finds a table of the ranks, whose columns have names, and hears of
    the connection, the verdict and a bar."""
    nodes = browser.cdp('Accessibility.getFullAXTree')['nodes']
    named = [(node['role']['value'], node.get('name', {}).get('value', ''))
             for node in nodes if not node['ignored']]
    roles = [role for role, _ in named]
    expect('a table with a name', ('table', 'Ranks, those that hold the job up first') in named,
           [item for item in named if item[0] == 'table'])
    columns = [name for role, name in named if role == 'columnheader']
    expect('its columns', columns == [
        'Rank', 'State', 'Call', 'For', 'Waits for, or why', 'Process'], columns)
    expect('its rows', (roles.count('row'), roles.count('rowheader')) == (SIZE + 1, SIZE), roles)
    expect('its cells', sum(role in ('cell', 'gridcell') for role in roles) == 5 * SIZE, roles)
    headings = {name for role, name in named if role == 'heading'}
    expect('headings', headings == {
        'hoop', 'train', 'Ranks, those that hold the job up first', 'The last minute', 'To keep',
        'Log'}, headings)
    live = browser.run('return [...document.querySelectorAll("[role=status], [aria-live]")]'
                       '.map((node) => node.id)')
    expect('what is told', live == ['connection', 'job-spoken', 'job-error', 'timeline-bar',
                                    'copied'], live)


def check_contrast(browser, scheme):
    """Each text that is shown differs from what is behind it by 4.5 to 1 at least, and so do
    the edges of bars."""
    poor = browser.run('''
        const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
        const light = (colour) => parts(colour).slice(0, 3).map((part) => part / 255)
          .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
          .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
        const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05)
          / (Math.min(light(a), light(b)) + 0.05);
        const behind = (node) => {
          const colour = getComputedStyle(node).backgroundColor;
          return parts(colour)[3] !== 0 || !node.parentElement ? colour
            : behind(node.parentElement);
        };
        const shown = [...document.body.querySelectorAll('*')].filter((node) =>
          node.checkVisibility() && [...node.childNodes].some((child) =>
            child.nodeType === Node.TEXT_NODE && child.textContent.trim()));
        const found = shown.map((node) => [node.textContent.trim().slice(0, 40),
          ratio(getComputedStyle(node).color, behind(node))]);
        const patch = document.querySelector('.patch');
        found.push(['edges', ratio(getComputedStyle(patch).borderTopColor, behind(document.body))]);
        return [found.length, found.filter(([, value]) => value < 4.5)];''')
    expect('texts are compared', poor[0] > 40, poor)
    expect(f'contrast in {scheme}', not poor[1], poor[1])


def check_frame(browser):
    """The frame of the focus is not drawn over the numbers of the ranks."""
    frames = browser.run(
        'return ["timeline", "timeline-scroll"].map((id) => {'
        '  const style = getComputedStyle(document.getElementById(id));'
        '  return [style.outlineStyle, parseFloat(style.outlineOffset)];'
        '});')
    expect('the frame is around the box', frames[0][0] == 'none' and frames[1][0] == 'solid'
           and frames[1][1] >= 0, frames)


def check_zoom(browser):
    """Keys and buttons zoom, and a button that can do no more says so."""
    def spent():
        return browser.run('return ["zoom-in", "zoom-out"].map((id) => '
                           'document.getElementById(id).ariaDisabled)')

    expect('a minute is shown', browser.text('#timeline-span') == 'shows 60 s')
    expect('which is the most', spent() == ['false', 'true'], spent())
    browser.press('+')
    browser.await_text('#timeline-span', 'shows 40 s')
    expect('now both zoom', spent() == ['false', 'false'], spent())
    browser.press('-', '-')
    browser.await_text('#timeline-span', 'shows 60 s')
    browser.press(*'+' * 9)
    browser.await_text('#timeline-span', 'shows 2.0 s')
    expect('this is the least', spent() == ['true', 'false'], spent())
    browser.press(*'-' * 9)
    browser.await_text('#timeline-span', 'shows 60 s')
    browser.click('#zoom-in')
    browser.await_text('#timeline-span', 'shows 40 s')


def check_before(browser):
    """The bar of a call that began before the page was opened begins where it did."""
    rows_when(browser, 'they have waited', lambda rows: all(
        re.match(r'[4-9]\.|\d\d|\d+ min', row[3]) for row in rows))
    opened = time.localtime()
    browser.do('refresh')
    browser.await_true('there is a timeline', lambda: browser.text('#timeline-title'))
    browser.run('document.querySelector("#timeline").focus()')
    browser.press('Up', 'Enter')
    browser.await_text('#timeline-bar', 'Rank 0, from ')
    said = browser.text('#timeline-bar')
    began = time.strptime(re.search(TIME, said).group(), '%H:%M:%S')
    before = sum(factor * (getattr(opened, part) - getattr(began, part)) for part, factor in (
        ('tm_hour', 3600), ('tm_min', 60), ('tm_sec', 1))) % 86400
    expect('it began before the page was opened', 3 <= before < 3600, said)


def check_phone(browser):
    """The page fits on a phone, and its links can be hit with a finger."""
    browser.cdp('Emulation.setDeviceMetricsOverride', width=360, height=740,
                deviceScaleFactor=1, mobile=True)
    browser.cdp('Emulation.setTouchEmulationEnabled', enabled=True)
    browser.await_true('nothing is wider than a phone', lambda: browser.run(
        'return document.documentElement.scrollWidth') == 360)
    rows_when(browser, 'the ranks are there', lambda rows: len(rows) == SIZE)
    expect('each cell has a line of its own', browser.run(
        'return [...document.querySelectorAll("#ranks tbody tr:first-child > *")]'
        '.every((cell) => cell.offsetWidth > 300)'))
    expect('no word on keys', browser.text('#timeline-help')
           == 'Click or tap a bar to read what it is.', browser.text('#timeline-help'))
    # A rank of which there is nothing to say has no name of a column either.
    labels = browser.run(
        'const why = document.querySelector("#ranks tbody tr > :nth-child(5)");'
        'const label = () => getComputedStyle(why, "::before").content;'
        'const labels = [why.innerText, label()];'
        'for (const part of why.children) part.textContent = "";'
        'return [...labels, label()];')
    expect('the cause says whom it holds up', labels[0].endswith('for it')
           and 'why' in labels[1] and labels[2] == 'none', labels)
    check_heights(browser, 'nav a', '.skip')
    browser.click('nav a')
    browser.await_text('#jobs', 'train')
    check_heights(browser, '#jobs a', 'h1 a')
    label = browser.run('return getComputedStyle(document.querySelector('
                        '"#jobs tbody td:nth-child(4)"), "::before").content')
    expect('it runs for so long', label == '"For: "', label)


def check_heights(browser, *selectors):
    for selector in selectors:
        height = browser.run('return document.querySelector(arguments[0])'
                             '.getBoundingClientRect().height', selector)
        expect(f'{selector} is high enough for a finger', height >= 24, height)


def check_click(browser):
    """A click at the right end of the last row says what the rank does now."""
    # First, since a page without that text is shorter, and may scroll.
    at = browser.run(
        'document.querySelector("#timeline-bar").textContent = "";'
        'const box = document.querySelector("#timeline").getBoundingClientRect();'
        'scrollTo(0, scrollY + box.top - 100);'
        'const now = document.querySelector("#timeline").getBoundingClientRect();'
        'return [Math.round(now.right - 20), Math.round(now.bottom - 10)];')
    browser.do('actions', actions=[{'type': 'pointer', 'id': 'mouse', 'actions': [
        {'type': 'pointerMove', 'x': at[0], 'y': at[1]},
        {'type': 'pointerDown', 'button': 0}, {'type': 'pointerUp', 'button': 0}]}])
    browser.await_text('#timeline-bar', 'Rank 2, from ')


def check_modules(browser, programs, folder):
    """The checks of tests/web/modules_test.js pass in the page, and no file of web/ has a
    way to write markup from text."""
    for name in os.listdir(WEB):
        with open(os.path.join(WEB, name), encoding='utf-8') as source:
            found = re.search(r'innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|'
                              r'\bFunction\(|\son\w+=|style=', source.read())
        expect(f'{name} writes text only', not found, found and found.group())
    hoopd = Hoopd(programs['hoopd'], folder)
    try:
        browser.open(hoopd.page)
        with open(os.path.join(HERE, 'modules_test.js'), encoding='utf-8') as source:
            script = source.read()
        result = browser.do('execute/async', args=[], script=(
            'const done = arguments[0];(async () => {' + script
            + '})().then(done, (error) => done(`${error.stack}`));'))
        expect('modules', isinstance(result, dict) and not result['failures'], result)
        print(f"{result['passed']} checks of modules; 256 ranks are written in "
              f"{result['ranks_ms']:.1f} ms, drawn in {result['paint_ms']:.1f} ms; 100 jobs "
              f"in {result['jobs_ms']:.1f} ms")
        no_messages(browser)
    finally:
        hoopd.kill()


def main():
    require()
    if 'links' in sys.argv[4:]:
        network_hosts.enter('page_links')
    programs = dict(zip(('hoopd', 'member', 'hoopctl'), map(os.path.abspath, sys.argv[1:4])))
    for name in sys.argv[4:]:
        with tempfile.TemporaryDirectory() as folder, Browser() as browser:
            try:
                globals()[f'check_{name}'](browser, programs, folder)
            except (Wrong, OSError, subprocess.SubprocessError) as error:
                sys.exit(f'page_check {name}: {error}')


if __name__ == '__main__':
    main()
