// dom.js - nodes are made once, and only what has changed is written

export const byId = (id) => document.getElementById(id);

export function element(tag, className = '') {
  const node = document.createElement(tag);
  if (className) node.className = className;
  return node;
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function setAttribute(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

export function setHidden(node, hidden) {
  if (node.hidden !== hidden) node.hidden = hidden;
}

export function setClass(node, className) {
  if (node.className !== className) node.className = className;
}

// The places of the longest row of numbers that rise; those below 0 do not count.
function longestRise(numbers) {
  const ends = []; // of the rows of 1, 2, ... numbers, that with the least end
  const before = [];
  numbers.forEach((number, place) => {
    if (number < 0) return;
    let low = 0;
    for (let high = ends.length; low < high;) {
      const middle = (low + high) >> 1;
      if (numbers[ends[middle]] < number) low = middle + 1;
      else high = middle;
    }
    before[place] = low > 0 ? ends[low - 1] : -1;
    ends[low] = place;
  });
  const rise = new Set();
  for (let place = ends.at(-1) ?? -1; place >= 0; place = before[place]) rise.add(place);
  return rise;
}

// Keeps one node for each item, in the order of the items. create(item) makes a
// node; update(node, item) writes it.
export class List {
  constructor(parent, key, create, update) {
    Object.assign(this, { parent, key, create, update, nodes: new Map() });
  }

  show(items) {
    const focused = document.activeElement;
    const keys = new Set(items.map(this.key));
    for (const [key, node] of this.nodes) {
      if (keys.has(key)) continue;
      node.remove();
      this.nodes.delete(key);
    }
    const nodes = items.map((item) => this.nodeOf(item));
    this.arrange(nodes);
    nodes.forEach((node, place) => this.update(node, items[place]));
    // A node that is moved loses the focus.
    if (focused !== document.activeElement && focused.isConnected) focused.focus();
  }

  // To move a node is to lay it out again, so as few as possible are moved. What the
  // parent has besides, as the head of a table, comes before.
  arrange(nodes) {
    const places = new Map([...this.parent.children].map((node, place) => [node, place]));
    const staying = longestRise(nodes.map((node) => places.get(node) ?? -1));
    for (let place = nodes.length - 1; place >= 0; place--)
      if (!staying.has(place)) this.parent.insertBefore(nodes[place], nodes[place + 1] ?? null);
  }

  nodeOf(item) {
    const key = this.key(item);
    let node = this.nodes.get(key);
    if (!node) {
      node = this.create(item);
      this.nodes.set(key, node);
    }
    return node;
  }
}

// A row of a table whose cells know the names of their columns, which a narrow
// screen shows beside them. Roles stay where a style sheet makes no table of it.
export function row(columns, heading) {
  const node = element('tr');
  node.setAttribute('role', 'row');
  for (const column of columns) {
    const cell = element(column === heading ? 'th' : 'td');
    if (column === heading) cell.scope = 'row';
    cell.setAttribute('role', column === heading ? 'rowheader' : 'cell');
    cell.dataset.column = column;
    node.append(cell);
  }
  return node;
}
