// tests/web/modules_test.js - the modules of web/, run in the page by page_check.py

const model = await import('/model.js');
const { List, byId } = await import('/dom.js');
const { Ranks } = await import('/ranks.js');
const { Jobs } = await import('/jobs.js');
const { Timeline } = await import('/timeline.js');

const failures = [];
let passed = 0;

function same(what, found, expected) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  if (a === b) passed += 1;
  else failures.push(`${what}: ${a} and not ${b}`);
}

const idle = { calls: 0 };
const silent = { silence: 'no answer' };
const rank = (number, activity, state = 'active') => ({
  rank: number, state, host: 'a', pid: 70 + number, activity,
  reason: state === 'lost' ? 'reset' : '',
});
const call = (number, age_ms, whom) => ({
  calls: 1, call: `barrier #${number}`, communicator: 'world', number, age_ms,
  waits_for: whom === undefined ? '' : `rank ${whom} (a:${70 + whom}) to send`,
  awaited_rank: whom,
});
const jobOf = (ranks, verdict = {}) => (
  { ranks, is_held_up: false, culprits: [], order: ranks.map((_, place) => place), ...verdict });
const orderOf = (...told) => model.inOrder(jobOf(...told)).map((item) => item.rank);

// ---- States.
same('states', [rank(0, idle), rank(0, silent), rank(0, call(1, 5)), rank(0, call(1, 5, 2)),
  rank(0, silent, 'lost'), rank(0, silent, 'left'), rank(0, null, 'joining'), rank(0, null),
  rank(0, null, 'of a newer hoopd')].map(model.stateOf),
['computing', 'silent', 'moving', 'waiting', 'lost', 'left', 'joining', 'active', 'active']);
// The number counts, and no words: they are of an older rank, or of several.
same('awaited', [rank(0, call(1, 5, 2)), rank(0, call(1, 5, 0)), rank(0, idle), rank(0, null),
  rank(0, { ...call(1, 5), waits_for: 'rank 2 (a:72) to send' })].map(model.awaitedRank),
[2, 0, null, null, null]);
same('calls', [{ communicator: 'world' }, { communicator: '', communicator_id: 5 },
  { communicator: '' }, { communicator: 'a', communicator_id: 5 }].map((of) => (
  model.callSentence({ call: 'barrier #1', ...of }))), ["barrier #1 of 'world'",
  'barrier #1 of communicator @5', 'barrier #1', "barrier #1 of 'a'"]);

// ---- Only rows that have changed are sent.
{
  const rows = new model.Rows('ranks');
  const take = (ranks, n_rows, clock_ms = 1) => rows.take({ clock_ms, ranks, n_rows });
  same('rows are missing', take({ 1: 'b' }, 3), null);
  same('all rows', take({ 0: 'a', 2: 'c' }, 3), { clock_ms: 1, ranks: ['a', 'b', 'c'], n_rows: 3 });
  same('one has changed', take({ 1: 'B' }, 3, 2).ranks, ['a', 'B', 'c']);
  same('others are gone', take({}, 1).ranks, ['a']);
  const behind = rows.take({ clock_ms: 3, ranks: {}, n_rows: 1, order: [0] });
  same('what is not sent again stays', [behind.order, take({}, 1, 4).order], [[0], [0]]);
  same('and come back', [take({}, 2), take({ 1: 'd' }, 2).ranks], [null, ['a', 'd']]);
  const job = { clock_ms: 9000, ranks: [rank(0, { calls: 1, call: 'c', since_ms: 4000 }),
    rank(1, { calls: 1, call: 'c', since_ms: 9100 }), rank(2, idle), rank(3, null)] };
  model.setAges(job);
  same('ages', job.ranks.map(model.ageOf), [5000, 0, null, null]);
}

// ---- Who is behind.
same('all compute', orderOf([rank(0, idle), rank(1, idle), rank(2, idle)]), [0, 1, 2]);
same('one does not call, as hoopd says', orderOf([rank(0, call(3, 9000, 2)),
  rank(1, call(3, 8000, 2)), rank(2, idle)], { is_held_up: true, order: [2, 1, 0] }), [2, 1, 0]);
same('a sample in passing', orderOf([rank(0, call(3, 4, 2)), rank(1, call(4, 1)),
  rank(2, idle)], { order: [2, 0, 1] }), [0, 1, 2]);
same('hoopd had no memory for the order', orderOf([rank(1, idle), rank(0, idle)],
  { is_held_up: true, order: [] }), [0, 1]);
same('lost, and left last', orderOf([rank(0, silent, 'left'), rank(1, idle),
  rank(2, silent, 'lost'), rank(3, silent)]), [2, 3, 1, 0]);
same('by number, not by letters', orderOf([rank(10, idle), rank(9, idle)]), [9, 10]);
{
  const waiters = model.waitersOf(jobOf([rank(0, call(3, 9000, 2)), rank(1, call(3, 9500, 2)),
    rank(2, idle), rank(3, call(3, 1, 0)), rank(4, call(3, 1, 1), 'lost')]));
  same('who waits', [...waiters], [[2, { n: 2, first: 0, age_ms: 9500 }],
    [0, { n: 1, first: 3, age_ms: 1 }]]);
  same('in words', [...waiters.values()].map(model.waitersSentence),
    ['rank 0 and 1 other wait for it', 'rank 3 waits for it']);
  same('more', model.waitersSentence({ n: 5, first: 1 }), 'rank 1 and 4 others wait for it');
}
same('marks', [0, 1, null].map((number) => model.markOf({ culprits: [1] }, rank(number, idle))),
  ['', '! the cause', '']);
same('several', model.markOf({ culprits: [0, 1] }, rank(1, idle)), '! a cause');

// ---- Words.
same('summary', model.summaryOf({ state: 'running', ranks: [rank(0, call(1, 1, 2)),
  rank(1, call(1, 1, 2)), rank(2, silent), rank(3, silent, 'left')] }),
'4 ranks: 1 gives no answer, 2 wait, 1 has left.');
same('forming', model.summaryOf({ state: 'forming', size: 4, missing: 'ranks 1-3',
  ranks: [rank(0, null, 'joining')] }),
'Forming: 1 rank of 4 has joined. Missing: ranks 1-3.');
{
  const at = (day, hour) => new Date(2026, 10, day, hour).getTime();
  const today = model.clockTime(at(26, 9), at(26, 23));
  const later = model.clockTime(at(26, 9), at(27, 0));
  same('a time of today', today.includes('2026'), false);
  same('a time of another day', [later.endsWith(today), later.includes('2026')], [true, true]);
}
same('durations', [-5, 0, 1234, 9999, 61000, 125000, 7300000, 2 * 86400000].map(model.duration),
  ['0.0 s', '0.0 s', '1.2 s', '10.0 s', '61 s', '2 min 5 s', '2 h 1 min', '2 days 0 h']);
same('addresses', ['', '#/', '#/job/', '#/job/a%2Fb', '#/job/%', '#/jobs/a']
  .map(model.jobOfHash), [null, null, null, 'a/b', null, null]);
same('and back', model.jobOfHash(model.hashOfJob('a/b:c+d@e')), 'a/b:c+d@e');

// ---- The last minute.
{
  const history = new model.History();
  const add = (clock_ms, ...activities) => history.add({
    clock_ms, ranks: activities.map((activity, number) => rank(number, activity)) });
  const barsOf = (number) => history.bars.get(number)
    .map((bar) => [bar.state, bar.from, bar.to, bar.whom]);
  add(100000, idle, idle);
  add(101000, call(1, 400, 1), idle);
  add(102000, call(1, 1400, 1), silent);
  same('a call begins when it says', barsOf(0),
    [['computing', 99000, 100600, null], ['waiting', 100600, 102000, 1]]);
  same('other states at the last sample', barsOf(1),
    [['computing', 99000, 101000, null], ['silent', 101000, 102000, null]]);
  add(103000, call(2, 100, 1), silent);
  same('another call, another bar', barsOf(0).at(-1), ['waiting', 102900, 103000, 1]);
  add(103000, idle, idle);
  same('a sample counts once', barsOf(1).at(-1), ['silent', 101000, 103000, null]);
  add(113000, call(2, 10100, 1), idle);
  same('silence leaves a gap, but not in a call that goes on', [barsOf(0).at(-1), barsOf(1).at(-1)],
    [['waiting', 102900, 113000, 1], ['computing', 112000, 113000, null]]);
  add(123000, call(3, 4000, 1), call(1, 30000, 0));
  same('nor in another that began in it, or before', [barsOf(0).at(-1), barsOf(1).at(-1)],
    [['waiting', 119000, 123000, 1], ['waiting', 113000, 123000, 0]]);
  add(182000, idle, idle);
  same('a minute is kept', barsOf(0),
    [['waiting', 119000, 123000, 1], ['computing', 181000, 182000, null]]);
  same('ranks', history.ranks(), [0, 1]);
  const opened = new model.History();
  opened.add({ clock_ms: 900000, ranks: [rank(0, call(7, 250000, 1)), rank(1, idle)] });
  same('a call that began before the page was opened', opened.bars.get(0)[0].from, 650000);
  same('what is not known', opened.bars.get(1)[0].from, 899000);
  same('a call in words', model.barSentence(0, opened.bars.get(0)[0])
    .replace(/\d+\/\d+\/\d+, \d\d:\d\d:\d\d/, 'TIME'),
  "Rank 0, from TIME for 4 min 10 s: in barrier #7 of 'world', waits for rank 1 (a:71) to send.");
  same('a bar in words', model.barSentence(1, { state: 'silent', from: 0, to: 1500, call: '',
    communicator: '', why: 'no answer' }).replace(/\d+\/\d+\/\d+, \d\d:\d\d:\d\d/, 'TIME'),
  'Rank 1, from TIME for 1.5 s: gives no answer: no answer.');
}

// ---- The log.
{
  const log = new model.Log(4);
  const entry = (text, nth, job = '') => ({ at_ms: 1, kind: 'lost', job, text, nth });
  const texts = (job = null) => log.of(job).map((item) => item.text);
  same('new', log.add('a-1', entry('one', 1)), true);
  same('again', log.add('a-1', entry('one', 1)), false);
  log.add('a-2', entry('x one', 1, 'x'));
  same('newest first', texts(), ['x one', 'one']);
  log.add('a-5', entry('x three', 3, 'x'));
  same('a gap is told', texts(), ['x three', 'hoopd has forgotten 1 earlier entry of job "x"',
    'x one', 'one']);
  same('of another job, and of hoopd', texts('y'), ['one']);
  log.add('a-6', entry('x four', 4, 'x'));
  same('bounded, and what has many loses', texts(), ['x four', 'x three',
    'hoopd has forgotten 1 earlier entry of job "x"', 'one']);
  log.add('b-3', entry('again', 3));
  same('another start counts anew', texts('').slice(0, 2),
    ['again', 'hoopd has forgotten 2 earlier entries of its own']);
  log.addSilence(1000, 3900);
  same('a short silence is not told', texts('')[0], 'again');
  log.addSilence(1000, 11000);
  same('a long one is', [log.entries[0].at_ms, texts('')[0].replace(/\d+\/\d+\/\d+, \d\d:\d\d:\d\d/, 'TIME')],
    [1000, 'it heard nothing of hoopd until TIME, for 10 s']);
}
same('commands', ['train', 'a/b:c+d@e', "it's $HOME", '-x', ''].map((name) => (
  /--job=(.*) --format/.exec(model.recordCommand(name))[1])),
['train', 'a/b:c+d@e', "'it'\\''s $HOME'", "'-x'", "''"]);

// ---- Only what has changed is written.
{
  const ranks = new Ranks();
  const many = Array.from({ length: 256 }, (_, number) => rank(number,
    number === 7 ? idle : call(3, 5000 + number, 7)));
  const watch = (body) => {
    const records = [];
    const observer = new MutationObserver((list) => records.push(...list));
    observer.observe(ranks.body, { childList: true, subtree: true, characterData: true, attributes: true });
    body();
    records.push(...observer.takeRecords());
    observer.disconnect();
    return records.length;
  };
  const show = (list) => ranks.show(jobOf(list, { is_held_up: true, culprits: [7],
    order: [7, ...list.map((_, place) => place).filter((place) => place !== 7)] }));
  show(many);
  same('256 rows', ranks.body.rows.length, 256);
  same('the one behind is first', ranks.body.rows[0].cells[0].textContent, '7! the cause');
  same('since when it is awaited, and by whom', [3, 4].map(
    (place) => ranks.body.rows[0].cells[place].textContent),
  ['5.3 s', 'rank 0 and 254 others wait for it']);
  same('the call and its communicator', ranks.body.rows[1].cells[2].textContent,
    "barrier #3 of 'world'");
  same('nothing new, nothing written', watch(() => show(many)), 0);
  const older = many.map((item) => (item.rank === 9
    ? { ...item, activity: { ...item.activity, age_ms: 60000 } } : item));
  same('of the rank, and of the one it waits for', watch(() => show(older)), 2);
  ranks.show(jobOf([rank(0,
    { ...call(1, 1, 1), waits_for: 'rank 12 (a:82) to send' })]));
  same('no half of a number is bold', [...ranks.body.rows[0].cells[4].children].map(
    (part) => part.textContent), ['', 'rank 12 (a:82) to send']);
  ranks.show(jobOf([rank(0,
    { ...call(1, 1, 2), waits_for: 'rank 2 <img src=x onerror=alert(1)>' })]));
  same('text stays text', [ranks.body.querySelectorAll('img').length,
    ranks.body.rows[0].cells[4].textContent], [0, 'rank 2 <img src=x onerror=alert(1)>']);
  same('others are gone', ranks.body.rows.length, 1);
}
{
  const parent = document.createElement('ul');
  document.body.append(parent);
  const list = new List(parent, (item) => item, (item) => {
    const node = document.createElement('button');
    node.textContent = item;
    return node;
  }, () => {});
  list.show(['a', 'b', 'c']);
  const moved = parent.children[2];
  moved.focus();
  list.show(['c', 'd', 'b']);
  same('order', parent.textContent, 'cdb');
  same('the focus stays', document.activeElement === moved, true);
  const moves = (items) => {
    const observer = new MutationObserver(() => {});
    observer.observe(parent, { childList: true });
    list.show(items);
    const n = observer.takeRecords().filter((record) => record.addedNodes.length > 0).length;
    observer.disconnect();
    return [parent.textContent, n];
  };
  same('only what moves is moved', ['dcb', 'bcd', 'bcdefg', 'gbcdef', 'bcdefg', 'eabg']
    .map((items) => moves([...items])),
  [['dcb', 1], ['bcd', 2], ['bcdefg', 3], ['gbcdef', 1], ['bcdefg', 1], ['eabg', 2]]);
  parent.remove();
}

// ---- 256 ranks and 100 jobs, as written once a second.
const median = (body) => {
  const times = [];
  for (let i = 0; i < 15; i++) {
    const start = performance.now();
    body(i);
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[7];
};
byId('job-view').hidden = false;
byId('ranks-part').hidden = false;
byId('timeline-part').hidden = false;
const table = new Ranks();
const ranks_ms = median((i) => {
  table.show(jobOf(Array.from({ length: 256 }, (_, number) => rank(number,
    number === 5 ? idle : call(3, 5000 + 1000 * i + number, 5))), { culprits: [5] }));
  document.body.getBoundingClientRect();
});
const history = new model.History();
for (let second = 0; second < 70; second++)
  history.add({ clock_ms: 1e12 + second * 1000, ranks: Array.from({ length: 256 },
    (_, number) => rank(number, (number + second) % 3 ? call(second, 500, 1) : idle)) });
const timeline = new Timeline();
timeline.history = history;
const paint_ms = median(() => timeline.paint());
{
  const texts = [];
  const pen = byId('timeline').getContext('2d');
  pen.fillText = (text) => texts.push(text);
  timeline.paint();
  delete pen.fillText;
  same('the numbers have a heading', texts.filter((text) => text === 'Rank').length, 1);
}
{
  // A bar that began before the last minute: the other rank's bar at its middle, as shown.
  const [from, to] = [1e6 - 300000, 1e6];
  const late = { state: 'computing', from: to - 2000, to };
  const halfway = { state: 'waiting', from: to - 60000, to: to - 2000 };
  timeline.history = Object.assign(new model.History(), { end: to,
    bars: new Map([[0, [{ state: 'waiting', from, to }]], [1, [halfway, late]]]) });
  timeline.choose(0, timeline.history.bars.get(0)[0]);
  timeline.move(1, 0);
  same('down from a long bar', timeline.bar === halfway, true);
  timeline.zoom(1 / 100);
  timeline.choose(1, late);
  same('what is in sight does not zoom', timeline.spanMs, 2000);
  timeline.choose(1, halfway);
  same('a bar before it comes into sight', timeline.spanMs, 4000);
  timeline.zoom(100);
  timeline.history = history;
}
same('all rows are drawn', byId('timeline').clientHeight > 256 * 8, true);
const jobs = new Jobs();
byId('jobs-view').hidden = false;
const jobs_ms = median((i) => {
  jobs.set(Array.from({ length: 100 }, (_, number) => ({ name: `job${number}`, state: 'running',
    epoch: 1, size: 4, members: 4, lost: 0, left: 0, since_ms: 1, is_held_up: true, verdict: `since ${i}` })));
  jobs.show(1e6 + 1000 * i);
  document.body.getBoundingClientRect();
});
same('100 jobs', byId('jobs').tBodies.length, 100);
return { passed, failures, ranks_ms, paint_ms, jobs_ms };
