// timeline.js - the last minute of each rank, drawn on a canvas

import { byId, element, setAttribute, setText } from './dom.js';
import { STATES, WINDOW_MS, barSentence, duration } from './model.js';

const SPAN_LEAST_MS = 2000;
const ZOOM = 1.5;
const LABEL_WIDTH = 44;
const AXIS_HEIGHT = 18;
const TILE = 8;
const EDGED_WIDTH = 4; // a bar has an edge
const SHOWN = ['computing', 'waiting', 'moving', 'silent', 'lost', 'left'];

// Stripes say the same as the colour: one way for waiting, both for silence and
// loss.
function patternOf(pen, state, colour, stripes) {
  if (!['waiting', 'silent', 'lost'].includes(state)) return colour;
  const tile = document.createElement('canvas');
  tile.width = TILE;
  tile.height = TILE;
  const brush = tile.getContext('2d');
  brush.fillStyle = colour;
  brush.fillRect(0, 0, TILE, TILE);
  brush.strokeStyle = stripes;
  brush.beginPath();
  for (let x = -TILE; x <= TILE; x += TILE) {
    brush.moveTo(x, TILE);
    brush.lineTo(x + TILE, 0);
    if (state === 'waiting') continue;
    brush.moveTo(x, 0);
    brush.lineTo(x + TILE, TILE);
  }
  brush.stroke();
  return pen.createPattern(tile, 'repeat');
}

export class Timeline {
  constructor() {
    this.canvas = byId('timeline');
    this.spanMs = WINDOW_MS;
    this.history = null;
    this.rank = null;
    this.bar = null;
    this.isDue = false;
    for (const state of SHOWN) {
      const item = element('li');
      const patch = element('span', `patch patch-${state}`);
      item.append(patch, ` ${STATES[state].sign} ${STATES[state].label}`);
      byId('timeline-key').append(item);
    }
    this.canvas.addEventListener('keydown', (event) => this.onKey(event));
    this.canvas.addEventListener('click', (event) => this.onClick(event));
    this.canvas.addEventListener('wheel', (event) => this.onWheel(event), { passive: false });
    byId('zoom-in').addEventListener('click', () => this.zoom(1 / ZOOM));
    byId('zoom-out').addEventListener('click', () => this.zoom(ZOOM));
    for (const query of ['(prefers-color-scheme: dark)', '(forced-colors: active)'])
      matchMedia(query).addEventListener('change', () => this.draw());
    // Only the rows that are seen are drawn.
    byId('timeline-scroll').addEventListener('scroll', () => this.draw());
    new ResizeObserver(() => this.draw()).observe(byId('timeline-scroll'));
  }

  show(history) {
    if (history === this.history && history.end === this.end) return;
    if (history !== this.history) {
      this.history = history;
      this.rank = null;
      this.bar = null;
      setText(byId('timeline-bar'), '');
    }
    this.end = history.end;
    this.draw();
  }

  zoom(factor) {
    this.spanMs = Math.min(WINDOW_MS, Math.max(SPAN_LEAST_MS, this.spanMs * factor));
    this.draw();
  }

  draw() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.paint();
    });
  }

  rowHeight(count) {
    return count > 64 ? 8 : count > 24 ? 12 : 20;
  }

  // A button that can do no more keeps the focus, so it is not `disabled`.
  paintTools() {
    setText(byId('timeline-span'), `shows ${duration(this.spanMs)}`);
    setAttribute(byId('zoom-in'), 'aria-disabled', `${this.spanMs <= SPAN_LEAST_MS}`);
    setAttribute(byId('zoom-out'), 'aria-disabled', `${this.spanMs >= WINDOW_MS}`);
  }

  paint() {
    this.paintTools();
    const width = byId('timeline-scroll').clientWidth;
    if (!this.history || width === 0) return;
    const ranks = this.history.ranks();
    const rowHeight = this.rowHeight(ranks.length);
    const height = AXIS_HEIGHT + ranks.length * rowHeight;
    const scale = window.devicePixelRatio || 1;
    const canvas = this.canvas;
    if (canvas.width !== Math.round(width * scale)
      || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      canvas.style.height = `${height}px`;
    }
    const pen = canvas.getContext('2d');
    const style = getComputedStyle(canvas);
    const paints = this.paintsOf(pen, style);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = `11px ${style.fontFamily}`;
    pen.textBaseline = 'middle';
    this.paintAxis(pen, width, height, paints['text-quiet']);
    const { scrollTop, clientHeight } = byId('timeline-scroll');
    ranks.forEach((rank, index) => {
      const y = AXIS_HEIGHT + index * rowHeight;
      if (y + rowHeight < scrollTop || y > scrollTop + clientHeight) return;
      if (rowHeight >= 12 || index % 4 === 0) {
        pen.fillStyle = paints.text;
        pen.fillText(`${rank}`, 2, y + rowHeight / 2, LABEL_WIDTH - 6);
      }
      for (const bar of this.history.bars.get(rank))
        this.paintBar(pen, { bar, y, width, rowHeight }, paints);
    });
    this.paintChoice(pen, { width, rowHeight, index: ranks.indexOf(this.rank) }, paints);
  }

  placeOf(ms, width) {
    const from = this.history.end - this.spanMs;
    return LABEL_WIDTH + ((ms - from) / this.spanMs) * (width - LABEL_WIDTH);
  }

  paintAxis(pen, width, height, colour) {
    const step = [1000, 2000, 5000, 10000, 20000]
      .find((ms) => (ms / this.spanMs) * (width - LABEL_WIDTH) >= 48) ?? 20000;
    pen.fillStyle = colour;
    pen.strokeStyle = colour;
    pen.globalAlpha = 0.35;
    for (let ago = 0; ago <= this.spanMs; ago += step) {
      const x = Math.round(this.placeOf(this.history.end - ago, width)) - 0.5;
      pen.beginPath();
      pen.moveTo(x, AXIS_HEIGHT - 4);
      pen.lineTo(x, height);
      pen.stroke();
    }
    pen.globalAlpha = 1;
    pen.fillText('Rank', 2, 7);
    for (let ago = step; ago <= this.spanMs; ago += step) {
      const x = this.placeOf(this.history.end - ago, width);
      pen.textAlign = 'center';
      if (x > LABEL_WIDTH + 12) pen.fillText(`−${ago / 1000} s`, x, 7);
    }
    pen.textAlign = 'left';
  }

  paintBar(pen, { bar, y, width, rowHeight }, paints) {
    const left = Math.max(LABEL_WIDTH, this.placeOf(bar.from, width));
    const right = this.placeOf(bar.to, width);
    if (right <= left) return;
    const top = y + 1;
    const height = rowHeight - 2;
    // Without an edge the pale ones would not stand out from the ground.
    const edge = right - left >= EDGED_WIDTH && rowHeight >= 12 ? 1 : 0;
    if (edge) {
      pen.fillStyle = paints['text-quiet'];
      pen.fillRect(left, top, right - left, height);
    }
    pen.fillStyle = paints[bar.state];
    pen.fillRect(left + edge, top + edge, right - left - 2 * edge, height - 2 * edge);
    const text = bar.whom === null ? STATES[bar.state].sign : `→ ${bar.whom}`;
    if (rowHeight >= 12 && right - left > pen.measureText(text).width + 8) {
      const w = pen.measureText(text).width + 6;
      pen.fillStyle = paints.background;
      pen.fillRect(left + 2, top + 1, w, height - 2);
      pen.fillStyle = paints.text;
      pen.fillText(text, left + 5, y + rowHeight / 2);
    }
  }

  // A frame around the bar that is chosen.
  paintChoice(pen, { width, rowHeight, index }, paints) {
    if (!this.bar || index < 0 || this.bar.to < this.history.end - this.spanMs) return;
    const left = Math.max(LABEL_WIDTH, this.placeOf(this.bar.from, width));
    const right = this.placeOf(this.bar.to, width);
    pen.strokeStyle = paints.focus;
    pen.lineWidth = 2;
    pen.strokeRect(left + 1, AXIS_HEIGHT + index * rowHeight + 1,
      Math.max(1, right - left - 2), rowHeight - 2);
    pen.lineWidth = 1;
  }

  // Colours of the style sheet, and a pattern for each state.
  paintsOf(pen, style) {
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const paints = {};
    for (const name of ['text', 'text-quiet', 'background', 'focus']) paints[name] = colour(name);
    const key = Object.keys(STATES).map((state) => colour(`bar-${state}`)).join();
    if (this.patternsKey !== key) {
      this.patternsKey = key;
      this.patterns = {};
      for (const state of Object.keys(STATES))
        this.patterns[state] = patternOf(pen, state, colour(`bar-${state}`), colour('hatch'));
    }
    return { ...paints, ...this.patterns };
  }

  choose(rank, bar) {
    this.rank = rank;
    this.bar = bar;
    const index = this.history.ranks().indexOf(rank);
    const scroll = byId('timeline-scroll');
    const rowHeight = this.rowHeight(this.history.bars.size);
    const y = AXIS_HEIGHT + index * rowHeight;
    // What lies before the time that is shown is zoomed out to.
    const ago = this.history.end - bar.to;
    if (ago >= this.spanMs) this.zoom((ago + SPAN_LEAST_MS) / this.spanMs);
    if (y < scroll.scrollTop) scroll.scrollTop = y - AXIS_HEIGHT;
    if (y + rowHeight > scroll.scrollTop + scroll.clientHeight)
      scroll.scrollTop = y + rowHeight - scroll.clientHeight;
    this.draw();
  }

  say() {
    if (this.bar) setText(byId('timeline-bar'), barSentence(this.rank, this.bar));
  }

  barAt(rank, ms) {
    return this.history.bars.get(rank)?.find((bar) => bar.from <= ms && ms <= bar.to) ?? null;
  }

  onClick(event) {
    if (!this.history) return;
    const width = byId('timeline-scroll').clientWidth;
    const ranks = this.history.ranks();
    const index = Math.floor((event.offsetY - AXIS_HEIGHT) / this.rowHeight(ranks.length));
    const ms = this.history.end - this.spanMs
      + ((event.offsetX - LABEL_WIDTH) / (width - LABEL_WIDTH)) * this.spanMs;
    const bar = this.barAt(ranks[index], ms);
    if (!bar) return;
    this.choose(ranks[index], bar);
    this.say();
  }

  onWheel(event) {
    if (document.activeElement !== this.canvas && !event.ctrlKey) return;
    event.preventDefault();
    this.zoom(event.deltaY > 0 ? ZOOM : 1 / ZOOM);
  }

  onKey(event) {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (!this.history || !isPlain) return;
    if (event.key === '+' || event.key === '=') this.zoom(1 / ZOOM);
    else if (event.key === '-') this.zoom(ZOOM);
    else if (event.key === 'Enter') this.say();
    else if (event.key in moves) this.move(...moves[event.key]);
    else return;
    event.preventDefault();
  }

  // To another rank at the same time, or to the bar before or after.
  move(ranksDown, barsOn) {
    const ranks = this.history.ranks();
    if (ranks.length === 0) return;
    const isKnown = this.bar && this.history.bars.get(this.rank)?.includes(this.bar);
    if (!isKnown) {
      this.choose(ranks[0], this.history.bars.get(ranks[0]).at(-1));
    } else if (ranksDown !== 0) {
      const index = Math.min(ranks.length - 1,
        Math.max(0, ranks.indexOf(this.rank) + ranksDown));
      const left = Math.max(this.bar.from, this.history.end - this.spanMs);
      const middle = (left + this.bar.to) / 2;
      this.choose(ranks[index], this.barAt(ranks[index], middle)
        ?? this.history.bars.get(ranks[index]).at(-1));
    } else {
      const bars = this.history.bars.get(this.rank);
      const index = Math.min(bars.length - 1, Math.max(0, bars.indexOf(this.bar) + barsOn));
      this.choose(this.rank, bars[index]);
    }
  }
}
