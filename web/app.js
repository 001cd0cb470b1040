// app.js - the page: which view is shown, and what hoopd's events change in it

import { byId, setAttribute, setClass, setHidden, setText } from './dom.js';
import { Jobs } from './jobs.js';
import { LogView } from './log.js';
import { History, Log, clockTime, jobOfHash, recordCommand, summaryOf } from './model.js';
import { Ranks } from './ranks.js';
import { Stream, askSession } from './stream.js';
import { Timeline } from './timeline.js';

const jobs = new Jobs();
const ranks = new Ranks();
const timeline = new Timeline();
const log = new Log();
const logView = new LogView(log);
const stream = new Stream({ onEvent, onSilence, onRefused });

let watched = null; // name of the job that is shown; null: all jobs
let job = null; // what hoopd last said of it
let history = new History();
let clockAhead = 0; // of hoopd's clock, in ms
let boot = '';
let isDue = false;
let spoken = ''; // what tells the last verdict from others
let silentSince = null; // in ms of hoopd's clock; null: it is heard

const hoopdNow = () => Date.now() + clockAhead;

function onEvent(name, data, id) {
  if (name === 'hello') {
    if (boot && boot !== data.boot) history = new History();
    boot = data.boot;
  } else if (name === 'time') {
    clockAhead = data - Date.now();
    return;
  } else if (name === 'jobs') {
    jobs.set(data.jobs);
    setText(byId('coordinator'), `hoopd ${data.version}, since ${clockTime(data.since_ms)}`);
    byId('jobs-view').dataset.isKnown = 'yes';
  } else if (name === 'job' && data.name === watched) {
    if (job && job.epoch !== data.epoch) history = new History();
    job = data;
    setHidden(byId('job-error'), true);
    if (job.state === 'running') history.add(job);
  } else if (name === 'job_error') {
    onJobError(data.error);
  } else if (name === 'entry') {
    log.add(id, data);
  }
  showSoon();
}

// There is no such job, or no longer. What was last known of it stays.
function onJobError(error) {
  setText(byId('job-error'), `${error}${job
    ? `. Below is what was known of it at ${clockTime(job.clock_ms)}.` : ''}`);
  setHidden(byId('job-error'), false);
}

function onSilence(since) {
  const connection = byId('connection');
  if (since === null && silentSince !== null && boot) log.addSilence(silentSince, hoopdNow());
  silentSince = since === null ? null : since + clockAhead;
  connection.className = since === null ? 'is-heard' : 'is-silent';
  setText(connection, since === null ? 'Connected.'
    : `hoopd is silent: nothing heard since ${clockTime(since)}. Connecting again.`);
}

function onRefused(refusal) {
  setHidden(byId('token-view'), false);
  for (const id of ['jobs-view', 'job-view', 'log-view']) setHidden(byId(id), true);
  setHidden(byId('token-form'), refusal.wants !== 'token');
  setText(byId('connection'), refusal.wants === 'token' ? 'hoopd asks for a token.' : refusal.error);
  byId('connection').className = 'is-silent';
  if (refusal.wants === 'token') byId('token').focus();
}

byId('token-form').addEventListener('submit', async (event) => {
  event.preventDefault();
  const field = byId('token');
  setText(byId('token-error'), '');
  const refusal = await askSession(field.value.trim());
  field.value = '';
  if (refusal) {
    setText(byId('token-error'), refusal.error);
    field.focus();
    return;
  }
  setHidden(byId('token-view'), true);
  go();
});

// Where there is no clipboard, as without TLS from elsewhere, the command is
// selected instead.
byId('copy').addEventListener('click', async () => {
  const said = byId('copied');
  setText(said, '');
  try {
    await navigator.clipboard.writeText(byId('record-command').textContent);
    setText(said, 'Copied.');
  } catch {
    getSelection().selectAllChildren(byId('record-command'));
    setText(said, 'Selected: copy it with Ctrl+C.');
  }
});

function showSoon() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    show();
  });
}

function show() {
  const isAsked = !byId('token-view').hidden;
  setHidden(byId('jobs-view'), isAsked || watched !== null || !byId('jobs-view').dataset.isKnown);
  setHidden(byId('job-view'), isAsked || watched === null);
  setHidden(byId('log-view'), isAsked || log.of(watched).length === 0);
  if (watched === null) jobs.show(hoopdNow());
  else showJob();
  logView.show(watched);
}

// The times in a verdict grow. A screen reader hears only of another one.
function showVerdict(from) {
  const verdict = byId('job-verdict');
  setText(verdict, from?.verdict ?? '');
  setHidden(verdict, !from?.verdict);
  setClass(verdict, from?.is_held_up ? 'verdict is-held-up' : 'verdict');
  setText(byId('job-advice'), from?.advice ?? '');
  setHidden(byId('job-advice'), !from?.advice);
  const key = job ? `${job.name} ${job.kind} ${job.culprits}` : '';
  if (job && key !== spoken) setText(byId('job-spoken'), job.verdict);
  spoken = key;
}

function showJob() {
  setText(byId('job-title'), watched);
  setText(byId('record-command'), recordCommand(watched));
  setAttribute(byId('job-json'), 'href', `/api/jobs/${encodeURIComponent(watched)}`);
  setAttribute(byId('job-json'), 'download', `${watched}.json`);
  showVerdict(job ?? jobs.find(watched));
  setText(byId('job-summary'), job ? summaryOf(job) : '');
  setHidden(byId('ranks-part'), !job || job.ranks.length === 0);
  setHidden(byId('keep-part'), !job);
  if (job) ranks.show(job);
  setHidden(byId('timeline-part'), history.bars.size === 0);
  timeline.show(history);
}

// To the view that the address names.
function go() {
  watched = jobOfHash(location.hash);
  job = null;
  history = new History();
  setHidden(byId('job-error'), true);
  setText(byId('copied'), '');
  document.title = watched === null ? 'hoop' : `${watched} · hoop`;
  stream.open(watched);
  show();
}

addEventListener('hashchange', () => {
  go();
  scrollTo(0, 0);
  byId('main').focus({ preventScroll: true });
});
// Ages in the list grow although nothing changes. Those of a job are of the sample.
setInterval(() => watched === null && showSoon(), 1000);
go();
