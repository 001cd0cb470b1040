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

// Keeps one node for each item, in the order of the items. create(item) makes a
// node; update(node, item) writes it.
export class List {
  constructor(parent, key, create, update) {
    Object.assign(this, { parent, key, create, update, nodes: new Map() });
    this.fixed = parent.lastElementChild;
  }

  show(items) {
    const focused = document.activeElement;
    const keys = new Set(items.map(this.key));
    for (const [key, node] of this.nodes) {
      if (keys.has(key)) continue;
      node.remove();
      this.nodes.delete(key);
    }
    // What the parent has besides, as the head of a table, comes before.
    let place = this.fixed ? this.fixed.nextSibling : this.parent.firstChild;
    for (const item of items) {
      const node = this.nodeOf(item);
      if (node === place) place = place.nextSibling;
      else this.parent.insertBefore(node, place);
      this.update(node, item);
    }
    // A node that is moved loses the focus.
    if (focused !== document.activeElement && focused.isConnected) focused.focus();
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
