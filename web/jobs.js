// jobs.js - the list of jobs, each with its verdict

import { List, byId, element, row, setAttribute, setClass, setHidden, setText } from './dom.js';
import { duration, hashOfJob } from './model.js';

const COLUMNS = ['Job', 'State', 'Ranks', 'For'];

function ranksOf(job) {
  const parts = [job.state === 'ended' ? `${job.size}` : `${job.members} of ${job.size || '?'}`];
  if (job.left > 0) parts.push(`${job.left} left`);
  if (job.lost > 0) parts.push(`${job.lost} lost`);
  return parts.join(', ');
}

export class Jobs {
  constructor() {
    this.jobs = [];
    this.list = new List(byId('jobs'), (job) => job.key,
      () => this.create(), (body, job) => this.update(body, job));
  }

  // Each job is a table body of its own: its row, and its verdict under it.
  create() {
    const body = element('tbody');
    body.setAttribute('role', 'rowgroup');
    const cells = row(COLUMNS, 'Job');
    cells.firstChild.append(element('a'));
    cells.children[1].append(element('span'));
    const verdict = element('tr', 'verdict-row');
    const cell = element('td', 'verdict');
    verdict.setAttribute('role', 'row');
    cell.setAttribute('role', 'cell');
    cell.colSpan = COLUMNS.length;
    verdict.append(cell);
    body.append(cells, verdict);
    return body;
  }

  update(body, job) {
    const [cells, verdict] = body.children;
    const link = cells.firstChild.firstChild;
    const hash = hashOfJob(job.name);
    setText(link, job.name);
    setAttribute(link, 'href', hash);
    const state = cells.children[1].firstChild;
    setText(state, job.lost > 0 && job.state !== 'forming' ? `${job.state}, with losses` : job.state);
    setClass(state, `chip job-${job.state}${job.lost > 0 ? ' has-lost' : ''}`);
    setText(cells.children[2], ranksOf(job));
    setText(cells.children[3], duration(this.now - job.since_ms));
    setText(verdict.firstChild, job.verdict);
    setClass(verdict.firstChild, job.is_held_up ? 'verdict is-held-up' : 'verdict');
    setHidden(verdict, !job.verdict);
  }

  // Several jobs that have ended may have one name.
  set(jobs) {
    const seen = new Map();
    this.jobs = jobs.map((job) => {
      const number = seen.get(job.name) ?? 0;
      seen.set(job.name, number + 1);
      return { ...job, key: `${job.name} ${number}` };
    });
  }

  // now: hoopd's clock, in ms.
  show(now) {
    this.now = now;
    this.list.show(this.jobs);
    setHidden(byId('jobs'), this.jobs.length === 0);
    setHidden(byId('jobs-none'), this.jobs.length > 0);
  }

  // The one that lives, or the last that has ended; null: there is none.
  find(name) {
    return this.jobs.find((job) => job.name === name) ?? null;
  }
}
