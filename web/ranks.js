// ranks.js - the ranks of a job as a table, those that hold it up first

import { List, byId, element, row, setClass, setHidden, setText } from './dom.js';
import {
  STATES, ageOf, awaitedRank, callSentence, duration, inOrder, markOf, stateOf, waitersOf,
  waitersSentence,
} from './model.js';

const COLUMNS = ['Rank', 'State', 'Call', 'For', 'Waits for, or why', 'Process'];

// Why it is in its state, or whom it waits for. waiters: of a rank that is in no
// call, those who wait for it, if any.
function whyOf(rank, waiters) {
  if (rank.state !== 'active') return rank.reason;
  if (waiters) return waitersSentence(waiters);
  return rank.activity?.silence || rank.activity?.waits_for || '';
}

export class Ranks {
  constructor() {
    this.body = byId('ranks').createTBody();
    this.body.setAttribute('role', 'rowgroup');
    this.list = new List(this.body, (rank) => rank.rank ?? `${rank.host}:${rank.pid}`,
      () => this.create(), (node, rank) => this.update(node, rank));
  }

  create() {
    const node = row(COLUMNS, 'Rank');
    node.children[0].append(element('span'), element('span', 'mark'));
    node.children[1].append(element('span'));
    node.children[4].append(element('b'), element('span', 'why'));
    return node;
  }

  update(node, rank) {
    const state = stateOf(rank);
    // When the last call of a rank ended is not known, but how long it is awaited.
    const waiters = state === 'computing' ? this.waiters.get(rank.rank) : undefined;
    const age = waiters ? waiters.age_ms : ageOf(rank);
    const awaited = awaitedRank(rank);
    const [number, mark] = node.children[0].children;
    const text = markOf(this.job, rank);
    setText(number, rank.rank === null ? '?' : `${rank.rank}`);
    setText(mark, text);
    setHidden(mark, !text);
    const chip = node.children[1].firstChild;
    setText(chip, `${STATES[state].sign} ${STATES[state].label}`);
    setClass(chip, `chip state-${state}`);
    setText(node.children[2], rank.activity?.call ? callSentence(rank.activity) : '');
    setText(node.children[3], age === null ? '' : duration(age));
    const [whom, why] = node.children[4].children;
    const reason = whyOf(rank, waiters);
    const head = awaited === null ? '' : `rank ${awaited}`;
    const isHead = head !== '' && reason.startsWith(`${head} `);
    setText(whom, isHead ? head : '');
    setText(why, isHead ? reason.slice(head.length) : reason);
    setText(node.children[5], `${rank.host}:${rank.pid}`);
  }

  show(job) {
    this.job = job;
    this.waiters = waitersOf(job);
    this.list.show(inOrder(job));
  }
}
