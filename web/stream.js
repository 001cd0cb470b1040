// stream.js - hoopd's events, and since when there are none

import { Rows, setAges } from './model.js';

const SILENT_MS = 3500;
const RETRY_MS = 1000;
const REOPEN_MS = 10000;
const WATCH_MS = 500;
const EVENTS = ['hello', 'time', 'jobs', 'job', 'job_error', 'entry'];

export class Stream {
  // handlers.onEvent(name, data, id); onSilence(ms since 1970; null: it is
  // heard); onRefused(what hoopd says): it wants a token, or refuses.
  constructor(handlers) {
    Object.assign(this, { handlers, source: null, retry: 0, lastId: '', isSilent: true, rows: {} });
    this.heard = Date.now();
    setInterval(() => this.watch(), WATCH_MS);
  }

  open(job) {
    this.close();
    this.job = job;
    const query = new URLSearchParams();
    if (job !== null) query.set('job', job);
    if (this.lastId) query.set('after', this.lastId);
    this.opened = Date.now();
    this.source = new EventSource(`/api/events?${query}`);
    for (const name of EVENTS)
      this.source.addEventListener(name, (event) => this.take(name, event));
    this.source.onerror = () => this.onError(this.source);
  }

  close() {
    clearTimeout(this.retry);
    this.source?.close();
    this.source = null;
  }

  take(name, event) {
    this.heard = Date.now();
    if (event.lastEventId) this.lastId = event.lastEventId;
    if (this.isSilent) {
      this.isSilent = false;
      this.handlers.onSilence(null);
    }
    const data = this.whole(name, JSON.parse(event.data));
    if (data) this.handlers.onEvent(name, data, event.lastEventId);
  }

  // What an event says, with the rows that have not changed; null: some are still
  // to come.
  whole(name, data) {
    if (name === 'hello') this.rows = { jobs: new Rows('jobs'), job: new Rows('ranks') };
    if (!(name in this.rows)) return data;
    const whole = this.rows[name].take(data);
    if (whole && name === 'job') setAges(whole);
    return whole;
  }

  watch() {
    if (!this.source) return;
    const now = Date.now();
    if (now - this.heard > SILENT_MS || this.source.readyState !== EventSource.OPEN) {
      if (now - this.heard < WATCH_MS * 2) return;
      this.isSilent = true;
      this.handlers.onSilence(this.heard);
    }
    // A connection that says nothing may be dead without anybody noticing.
    if (now - Math.max(this.heard, this.opened) > REOPEN_MS) this.open(this.job);
  }

  // A browser connects again by itself, unless hoopd has answered with a refusal.
  async onError(source) {
    if (source !== this.source || source.readyState !== EventSource.CLOSED) return;
    const refusal = await askSession();
    if (source !== this.source) return;
    if (refusal) {
      this.close();
      this.handlers.onRefused(refusal);
    } else {
      this.retry = setTimeout(() => this.open(this.job), RETRY_MS);
    }
  }
}

// Whether hoopd shows its jobs: null, or why not: {error, wants}. A token begins
// a session, which a cookie names that scripts cannot read.
export async function askSession(token = null) {
  try {
    const response = await fetch('/api/session', {
      headers: token === null ? {} : { Authorization: `Bearer ${token}` },
      cache: 'no-store',
    });
    return response.ok || response.status >= 500 ? null : await response.json();
  } catch {
    return token === null ? null : { error: 'hoopd cannot be reached', wants: 'token' };
  }
}
