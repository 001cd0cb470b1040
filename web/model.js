// model.js - what the page shows, as pure functions of what hoopd says

export const WINDOW_MS = 60000;
const SAMPLE_GAP_MS = 3500;
const SILENCE_TOLD_MS = 3000;

// label: of one rank; several: of more than one.
export const STATES = {
  silent: { label: 'gives no answer', several: 'give no answer', sign: '?' },
  lost: { label: 'lost', sign: '×' },
  computing: { label: 'in no call', sign: '▪' },
  waiting: { label: 'waits', several: 'wait', sign: '…' },
  moving: { label: 'in a call', sign: '→' },
  joining: { label: 'joining', sign: '+' },
  active: { label: 'active', sign: '·' },
  left: { label: 'has left', several: 'have left', sign: '✓' },
};
const ORDER = Object.keys(STATES);

export function stateOf(rank) {
  if (rank.state !== 'active') return rank.state in STATES ? rank.state : 'active';
  const activity = rank.activity;
  if (!activity) return 'active';
  if (activity.silence) return 'silent';
  if (!activity.call) return 'computing';
  return activity.waits_for ? 'waiting' : 'moving';
}

// Jobs and ranks come in rows, of which only those are sent that have changed, by
// their places, as are some other fields (server/http/rows.h).
export class Rows {
  constructor(field) {
    Object.assign(this, { field, rows: [], told: {} });
  }

  // Returns the object with all its rows; null: some have not come yet.
  take(data) {
    for (const [place, row] of Object.entries(data[this.field])) this.rows[place] = row;
    this.rows.length = data.n_rows;
    this.told = { ...this.told, ...data, [this.field]: [...this.rows] };
    return this.rows.includes(undefined) ? null : this.told;
  }
}

// hoopd says when a call began. Its age is that at the time of the sample.
export function setAges(job) {
  for (const { activity } of job.ranks)
    if (activity?.call) activity.age_ms = Math.max(0, job.clock_ms - activity.since_ms);
}

// The rank that a rank waits for; null: none, or it does not say.
export function awaitedRank(rank) {
  return rank.activity?.awaited_rank ?? null;
}

export function ageOf(rank) {
  return rank.activity?.call ? rank.activity.age_ms : null;
}

// The ranks, the furthest behind first while something holds the job up: then
// hoopd orders them as `hoopctl why` does. Otherwise a sample tells little, and
// they stay in their places, the lost and silent first, and who has left last.
export function inOrder(job) {
  if (job.is_held_up && job.order.length === job.ranks.length)
    return job.order.map((place) => job.ranks[place]);
  const placeOf = (rank) => ({ lost: 0, silent: 0, left: 2 })[stateOf(rank)] ?? 1;
  return [...job.ranks].sort((a, b) => placeOf(a) - placeOf(b) || a.rank - b.rank);
}

// How many ranks wait for a rank, the first of them, and how long one has: a map
// by the rank that is awaited.
export function waitersOf(job) {
  const waiters = new Map();
  for (const rank of job.ranks) {
    const awaited = awaitedRank(rank);
    if (rank.state !== 'active' || rank.rank === null || awaited === null) continue;
    const known = waiters.get(awaited) ?? { n: 0, first: rank.rank, age_ms: 0 };
    waiters.set(awaited, {
      n: known.n + 1,
      first: Math.min(known.first, rank.rank),
      age_ms: Math.max(known.age_ms, ageOf(rank)),
    });
  }
  return waiters;
}

export function waitersSentence({ n, first }) {
  if (n === 1) return `rank ${first} waits for it`;
  return `rank ${first} and ${plural(n - 1, 'other')} wait for it`;
}

// The call of a rank or of a bar, in the words of the verdict.
export function callSentence({ call, communicator, communicator_id }) {
  if (communicator) return `${call} of '${communicator}'`;
  return communicator_id ? `${call} of communicator @${communicator_id}` : call;
}

// What marks a rank that the verdict names; '': it does not.
export function markOf(job, rank) {
  if (rank.rank === null || !job.culprits.includes(rank.rank)) return '';
  return job.culprits.length === 1 ? '! the cause' : '! a cause';
}

export const plural = (n, word, words = `${word}s`) => `${n} ${n === 1 ? word : words}`;

// How many ranks are in which state, in words.
export function summaryOf(job) {
  if (job.state === 'forming') {
    const missing = job.missing ? ` Missing: ${job.missing}.` : '';
    return `Forming: ${plural(job.ranks.length, 'rank')} of ${job.size || '?'} `
      + `${job.ranks.length === 1 ? 'has' : 'have'} joined.${missing}`;
  }
  if (job.ranks.length === 0) return '';
  const counts = new Map();
  for (const rank of job.ranks) {
    const state = stateOf(rank);
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  const parts = ORDER.filter((state) => counts.has(state)).map((state) => {
    const { label, several } = STATES[state];
    return `${counts.get(state)} ${counts.get(state) > 1 ? several ?? label : label}`;
  });
  return `${plural(job.ranks.length, 'rank')}: ${parts.join(', ')}.`;
}

export function duration(ms) {
  const s = Math.max(0, ms) / 1000;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 120) return `${Math.floor(s)} s`;
  const minutes = Math.floor(s / 60);
  if (minutes < 120) return `${minutes} min ${Math.floor(s % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} days ${hours % 24} h`;
}

// A time of another day than now_ms has its date.
export function clockTime(ms, now_ms = Date.now()) {
  const date = new Date(ms);
  const time = date.toLocaleTimeString([], { hour12: false });
  const isToday = date.toDateString() === new Date(now_ms).toDateString();
  return isToday ? time : `${date.toLocaleDateString()}, ${time}`;
}

// The last minute of a job: for each rank bars in the order of time, each
// {from, to, state, whom, call, number}, in ms of hoopd's clock.
export class History {
  constructor() {
    this.bars = new Map();
    this.end = 0;
  }

  add(job) {
    const now = job.clock_ms;
    if (now <= this.end) return;
    for (const rank of job.ranks) {
      if (rank.rank !== null) this.addBar(rank, now);
    }
    this.end = now;
    this.forget();
  }

  addBar(rank, now) {
    const bars = this.bars.get(rank.rank) ?? [];
    const last = bars.at(-1);
    const bar = {
      state: stateOf(rank),
      whom: awaitedRank(rank),
      call: rank.activity?.call ?? '',
      number: rank.activity?.number ?? 0,
      communicator: rank.activity?.communicator ?? '',
      communicator_id: rank.activity?.communicator_id,
      why: rank.reason || rank.activity?.silence || rank.activity?.waits_for || '',
      to: now,
    };
    this.bars.set(rank.rank, bars);
    const isSame = last
      && ['state', 'whom', 'call', 'number', 'communicator', 'communicator_id']
      .every((field) => last[field] === bar[field]);
    const isNear = last && now - last.to <= SAMPLE_GAP_MS;
    // A call tells when it began, be it before the first sample or in a gap; of
    // other states the last sample is all that is known.
    const age = ageOf(rank);
    const began = age === null ? now - 1000 : now - age;
    if (isSame && (isNear || (age !== null && began <= last.to))) {
      last.to = now;
      last.why = bar.why;
      return;
    }
    if (isNear && age === null) bar.from = last.to;
    else bar.from = last ? Math.max(last.to, began) : began;
    if (isNear) last.to = bar.from;
    bars.push(bar);
  }

  forget() {
    for (const [rank, bars] of this.bars) {
      while (bars.length > 0 && bars[0].to < this.end - WINDOW_MS) bars.shift();
      if (bars.length === 0) this.bars.delete(rank);
    }
  }

  ranks() {
    return [...this.bars.keys()].sort((a, b) => a - b);
  }
}

// What a bar is, in words.
export function barSentence(rank, bar) {
  const span = `from ${clockTime(bar.from)} for ${duration(bar.to - bar.from)}`;
  const call = callSentence(bar);
  switch (bar.state) {
    case 'waiting':
      return `Rank ${rank}, ${span}: in ${call}, waits for ${bar.why}.`;
    case 'moving':
      return `Rank ${rank}, ${span}: in ${call}.`;
    case 'computing':
      return `Rank ${rank}, ${span}: in no call.`;
    default:
      return `Rank ${rank}, ${span}: ${STATES[bar.state].label}`
        + `${bar.why ? `: ${bar.why}` : ''}.`;
  }
}

// What a shell takes for the name, whatever is in it.
const quoted = (name) => (/^[\w@%+=:,./-]+$/.test(name) && !name.startsWith('-')
  ? name : `'${name.replaceAll("'", "'\\''")}'`);

// What writes a trace of the last calls of a job's ranks, of the folder if there is one.
export const recordCommand = (name) => `hoopctl record --job=${quoted(name)} `
  + '--format=chrome --output=trace.json ${HOOP_RECORDER_DIR:+"$HOOP_RECORDER_DIR"}';

export const ENTRY_KINDS = {
  started: 'hoopd', joined: 'join', withdrawn: 'withdrawal', formed: 'formed',
  grown: 'grow', shrunk: 'shrink', form_failed: 'not formed', left: 'leave',
  lost: 'loss', ended: 'end', stepped_late: 'hoopd', peer_hears: 'hoopd',
  missing: 'missing', silence: 'this page',
};

// The log: entries of one start of hoopd after the other, each once.
export class Log {
  constructor(most = 512) {
    Object.assign(this, { most, entries: [], boot: '', last: 0, nths: new Map() });
  }

  // id is "BOOT-NUMBER". Returns whether the entry is new.
  add(id, entry) {
    const [boot, text] = id.split('-');
    const number = Number(text);
    if (boot === this.boot && number <= this.last) return false;
    if (boot !== this.boot) this.nths.clear();
    // hoopd counts the entries of each job, and forgets the oldest.
    const gone = entry.nth - 1 - (this.nths.get(entry.job) ?? 0);
    if (gone > 0)
      this.put({
        id: `gap-${id}`, at_ms: entry.at_ms, kind: 'missing', job: entry.job,
        text: `hoopd has forgotten ${plural(gone, 'earlier entry', 'earlier entries')} of `
          + `${entry.job ? `job "${entry.job}"` : 'its own'}`,
      });
    Object.assign(this, { boot, last: number });
    this.nths.set(entry.job, entry.nth);
    this.put({ ...entry, id });
    return true;
  }

  // Nothing was heard between these times of hoopd's clock.
  addSilence(from_ms, to_ms) {
    if (to_ms - from_ms < SILENCE_TOLD_MS) return;
    this.put({
      id: `silence-${from_ms}`, at_ms: from_ms, kind: 'silence', job: '',
      text: `it heard nothing of hoopd until ${clockTime(to_ms)}, for `
        + `${duration(to_ms - from_ms)}`,
    });
  }

  // As in hoopd: for one too many, whoever has the most loses its oldest.
  put(entry) {
    this.entries.unshift(entry);
    if (this.entries.length <= this.most) return;
    const counts = new Map();
    for (const { job } of this.entries) counts.set(job, (counts.get(job) ?? 0) + 1);
    const [longest] = [...counts].reduce((a, b) => (b[1] >= a[1] ? b : a));
    this.entries.splice(this.entries.findLastIndex(({ job }) => job === longest), 1);
  }

  // Those of a job and of hoopd itself; null: all.
  of(job) {
    return job === null ? this.entries
      : this.entries.filter((entry) => entry.job === job || entry.job === '');
  }
}

// #/ and #/job/NAME: the name of the job, or null.
export function jobOfHash(hash) {
  const found = /^#\/job\/(.+)$/.exec(hash);
  if (!found) return null;
  try {
    return decodeURIComponent(found[1]);
  } catch {
    return null;
  }
}

export const hashOfJob = (name) => `#/job/${encodeURIComponent(name)}`;
