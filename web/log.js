// log.js - joins, losses, grows and starts of hoopd, the newest first

import { List, byId, element, setText } from './dom.js';
import { ENTRY_KINDS, clockTime } from './model.js';

export class LogView {
  constructor(log) {
    this.log = log;
    this.list = new List(byId('log'), (entry) => entry.id,
      (entry) => this.create(entry), (node, entry) => this.update(node, entry));
  }

  create(entry) {
    const node = element('li', `entry-${entry.kind}`);
    const time = element('time');
    time.dateTime = new Date(entry.at_ms).toISOString();
    const kind = element('span', 'chip');
    setText(kind, ENTRY_KINDS[entry.kind] ?? entry.kind);
    const text = element('span', 'text');
    setText(text, entry.text);
    node.append(time, ' ', kind, ' ', text);
    return node;
  }

  // Midnight makes another day of today.
  update(node, entry) {
    if (node.dataset.today === this.today) return;
    node.dataset.today = this.today;
    setText(node.firstChild, clockTime(entry.at_ms));
  }

  show(job) {
    this.today = new Date().toDateString();
    this.list.show(this.log.of(job));
  }
}
