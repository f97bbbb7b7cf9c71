// The graph, coloured by device: drag to move, Ctrl and wheel to zoom.
import { FONT, Surface, element, fitText, showTip } from './dom.js';
import { formatTime } from './format.js';
import { deviceColour, deviceFill, inkOn, isPlain, palette } from './theme.js';

const BOX = { width: 150, height: 26 };
const LABELS_FROM = 0.42; // scale from which names can be read
const SHAPES_FROM = 0.12; // below this, boxes have no outline
const MOST_CURVES = 3000; // more links than this are straight: faster

export class GraphView {
  constructor(selection, tipOf) {
    this.selection = selection;
    this.tipOf = tipOf;
    this.placement = null;
    this.showCritical = true;
    this.canvas = element('canvas', { tabindex: 0, role: 'img', 'aria-label': 'The graph, coloured by device' });
    this.root = element('div', { class: 'view graph' }, this.canvas);
    this.surface = new Surface(this.canvas, (...all) => this.draw(...all));
    this.scale = 1;
    this.left = this.top = 0; // of the screen, in the picture's units
    this.fitted = true;
    this.listen();
    selection.listen((source) => {
      if (source !== this && selection.item >= 0) this.reveal(selection.item);
      this.surface.request();
    });
  }

  show(placement) {
    const other = !this.placement || this.placement.graph !== placement.graph;
    this.placement = placement;
    if (other) this.fit();
    this.surface.request();
  }

  fit() {
    this.fitted = true;
    this.surface.request();
  }

  applyFit(width, height) {
    const { graph } = this.placement;
    const [wide, high] = [graph.width, graph.height];
    this.scale = Math.min(1.25, (width - 24) / wide, (height - 24) / high);
    this.left = wide / 2 - width / 2 / this.scale;
    this.top = high / 2 - height / 2 / this.scale;
  }

  zoom(factor, x = this.surface.width / 2, y = this.surface.height / 2) {
    const next = Math.min(4, Math.max(0.005, this.scale * factor));
    this.left += x / this.scale - x / next;
    this.top += y / this.scale - y / next;
    this.scale = next;
    this.fitted = false;
    this.surface.request();
  }

  // Moves as little as brings an item on the screen, large enough to read.
  reveal(item) {
    const { graph } = this.placement;
    const { width, height } = this.surface;
    const spot = this.screenOf(item);
    const seen = spot.x > 90 && spot.x < width - 90 && spot.y > 24 && spot.y < height - 24;
    if (seen && this.scale >= LABELS_FROM) return;
    this.scale = Math.max(this.scale, 0.7);
    this.left = graph.x[item] - width / 2 / this.scale;
    this.top = graph.y[item] - height / 2 / this.scale;
    this.fitted = false;
  }

  screenOf(item) {
    const { graph } = this.placement;
    return { x: (graph.x[item] - this.left) * this.scale, y: (graph.y[item] - this.top) * this.scale };
  }

  itemAt({ x, y }) {
    const { graph } = this.placement;
    const [px, py] = [x / this.scale + this.left, y / this.scale + this.top];
    const slack = 3 / this.scale;
    for (let item = graph.size - 1; item >= 0; --item) {
      if (Math.abs(graph.x[item] - px) <= BOX.width / 2 + slack && Math.abs(graph.y[item] - py) <= BOX.height / 2 + slack) {
        return item;
      }
    }
    return -1;
  }

  listen() {
    let grip = null;
    this.canvas.addEventListener('pointerdown', (event) => {
      grip = { ...this.surface.at(event), left: this.left, top: this.top, moved: false };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener('pointermove', (event) => {
      const at = this.surface.at(event);
      if (grip) {
        const [dx, dy] = [at.x - grip.x, at.y - grip.y];
        grip.moved ||= Math.hypot(dx, dy) > 4;
        if (grip.moved) {
          this.left = grip.left - dx / this.scale;
          this.top = grip.top - dy / this.scale;
          this.fitted = false;
          showTip(event, null);
          this.surface.request();
        }
        return;
      }
      const item = this.itemAt(at);
      this.canvas.classList.toggle('over', item >= 0);
      this.selection.set({ hover: item }, this);
      showTip(event, item < 0 ? null : this.tipOf(item));
    });
    this.canvas.addEventListener('pointerup', (event) => {
      if (grip && !grip.moved) this.selection.set({ item: this.itemAt(this.surface.at(event)) }, this);
      grip = null;
    });
    this.canvas.addEventListener('pointerleave', (event) => {
      this.selection.set({ hover: -1 }, this);
      showTip(event, null);
    });
    this.canvas.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const { x, y } = this.surface.at(event);
      this.zoom(Math.exp(-event.deltaY * 0.0022), x, y);
    }, { passive: false });
    this.canvas.addEventListener('keydown', (event) => {
      const step = 60 / this.scale;
      const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
      if (event.key === '+' || event.key === '=') this.zoom(1.25);
      else if (event.key === '-') this.zoom(0.8);
      else if (event.key === '0') this.fit();
      else if (moves[event.key]) {
        this.left += moves[event.key][0];
        this.top += moves[event.key][1];
        this.fitted = false;
        this.surface.request();
      } else return;
      event.preventDefault();
    });
  }

  draw(context, width, height) {
    const { placement, selection } = this;
    if (!placement) return;
    if (this.fitted) this.applyFit(width, height);
    const colours = palette();
    context.fillStyle = colours.panel;
    context.fillRect(0, 0, width, height);
    context.save();
    context.scale(this.scale, this.scale);
    context.translate(-this.left, -this.top);
    this.drawLinks(context, width, height, colours);
    this.drawBoxes(context, width, height, colours);
    context.restore();
    if (selection.item >= 0) this.frame(context, selection.item, colours.ink, 3);
    if (selection.hover >= 0 && selection.hover !== selection.item) this.frame(context, selection.hover, colours.ink, 1.5);
  }

  frame(context, item, colour, wide) {
    const { x, y } = this.screenOf(item);
    const [w, h] = [Math.max(BOX.width * this.scale, 6) + 6, Math.max(BOX.height * this.scale, 6) + 6];
    context.strokeStyle = colour;
    context.lineWidth = wide;
    context.beginPath();
    context.roundRect(x - w / 2, y - h / 2, w, h, 6 * Math.min(1, this.scale) + 1);
    context.stroke();
  }

  link(context, from, to, straight) {
    const { graph } = this.placement;
    const [x1, y1, x2, y2] = [graph.x[from] + BOX.width / 2, graph.y[from], graph.x[to] - BOX.width / 2, graph.y[to]];
    context.moveTo(x1, y1);
    if (straight) context.lineTo(x2, y2);
    else {
      const bend = x2 > x1 ? Math.max(20, (x2 - x1) / 2) : 120; // back to the next line
      context.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
    }
  }

  drawLinks(context, width, height, colours) {
    const { placement, selection } = this;
    const { graph } = placement;
    const { links } = graph;
    const [right, bottom] = [this.left + width / this.scale, this.top + height / this.scale];
    const seen = [];
    for (let i = 0; i < links.length; i += 2) {
      const [a, b] = [links[i], links[i + 1]];
      if (Math.max(graph.x[a], graph.x[b]) + BOX.width < this.left || Math.min(graph.x[a], graph.x[b]) - BOX.width > right ||
          Math.max(graph.y[a], graph.y[b]) < this.top || Math.min(graph.y[a], graph.y[b]) > bottom) continue;
      seen.push(a, b);
    }
    const straight = seen.length / 2 > MOST_CURVES;
    context.lineWidth = Math.min((seen.length / 2 > MOST_CURVES ? 0.4 : 0.8) / this.scale + 0.4, 6);
    context.strokeStyle = colours.edge;
    context.globalAlpha = seen.length / 2 > 8000 ? 0.5 : 1;
    context.beginPath();
    for (let i = 0; i < seen.length; i += 2) this.link(context, seen[i], seen[i + 1], straight);
    context.stroke();
    context.globalAlpha = 1;
    const focus = selection.item >= 0 ? selection.item : selection.hover;
    if (focus < 0) return;
    context.lineWidth = 2.2 / Math.min(1, this.scale);
    context.strokeStyle = colours.ink;
    context.beginPath();
    for (const other of graph.before(focus)) this.link(context, other, focus, false);
    for (const other of graph.after(focus)) this.link(context, focus, other, false);
    context.stroke();
  }

  drawBoxes(context, width, height, colours) {
    const { placement, selection } = this;
    const { graph } = placement;
    const [right, bottom] = [this.left + width / this.scale, this.top + height / this.scale];
    const labels = this.scale >= LABELS_FROM;
    const shapes = this.scale >= SHAPES_FROM;
    const fills = new Map();
    const fillOf = (device) => {
      if (!fills.has(device)) fills.set(device, deviceFill(context, device));
      return fills.get(device);
    };
    // Far away, boxes grow a little so that they stay visible.
    const grow = Math.min(1.35, Math.max(1, 0.16 / this.scale));
    const [wide, high] = [BOX.width * Math.min(grow, 1.2), BOX.height * grow];
    context.textBaseline = 'middle';
    for (let item = 0; item < graph.size; ++item) {
      const [x, y] = [graph.x[item], graph.y[item]];
      if (x + wide < this.left || x - wide > right || y + high < this.top || y - high > bottom) continue;
      const [x0, y0] = [x - wide / 2, y - high / 2];
      const shares = placement.sharesOf(item);
      if (shares.length === 1) {
        context.fillStyle = fillOf(shares[0][0]);
        if (shapes) {
          context.beginPath();
          context.roundRect(x0, y0, wide, high, 5);
          context.fill();
        } else context.fillRect(x0, y0, wide, high);
      } else {
        // Near, a strip below the name; far away the whole box.
        const strip = labels ? 8 : high;
        const all = shares.reduce((sum, [, count]) => sum + count, 0);
        if (labels) {
          context.fillStyle = colours.faint;
          context.fillRect(x0, y0, wide, high - strip);
        }
        let from = x0;
        for (const [device, count] of shares.slice().sort((a, b) => a[0] - b[0])) {
          context.fillStyle = fillOf(device);
          context.fillRect(from, y0 + high - strip, (wide * count) / all, strip);
          from += (wide * count) / all;
        }
      }
      if (this.showCritical && placement.criticalItem.has(item)) {
        context.strokeStyle = colours.mark;
        // Far away thin, or it would hide the colours of devices.
        context.lineWidth = this.scale >= LABELS_FROM ? 2.4 : (shapes ? 1 : 0.6) / this.scale;
        context.beginPath();
        context.roundRect(x0 - 1, y0 - 1, wide + 2, high + 2, 6);
        context.stroke();
      }
      if (selection.found.has(item)) {
        context.strokeStyle = colours.accent;
        context.lineWidth = Math.max(3, 2 / this.scale);
        context.strokeRect(x0 - 4, y0 - 4, wide + 8, high + 8);
      }
      if (labels) this.label(context, item, x0, shares.length === 1 ? y : y - 4, shares, colours);
    }
  }

  // The name to the left and the device to the right, so that colour is not all there is.
  label(context, item, x0, y, shares, colours) {
    const { placement } = this;
    const [device] = shares[0];
    const plain = shares.length > 1 || isPlain(device);
    const ink = shares.length > 1 ? colours.ink : inkOn(deviceColour(device));
    const tag = shares.length === 1 ? placement.devices[device].name : `${shares.length} devices`;
    context.font = `10px ${FONT}`;
    if (!plain) { // letters on stripes cannot be read
      context.fillStyle = deviceColour(device);
      context.fillRect(x0 + 5, y - 8, BOX.width - 10, 16);
    }
    context.fillStyle = ink;
    context.textAlign = 'right';
    context.globalAlpha = 0.85;
    const short = fitText(context, tag, 56);
    context.fillText(short, x0 + BOX.width - 7, y + 0.5);
    const used = context.measureText(short).width;
    context.globalAlpha = 1;
    context.font = `11.5px ${FONT}`;
    context.textAlign = 'left';
    context.fillText(fitText(context, placement.graph.names[item], BOX.width - used - 22), x0 + 8, y + 0.5);
  }
}

// What the tip says of an item.
export function itemTip(placement, item) {
  const { graph } = placement;
  const lines = [graph.names[item]];
  const what = graph.grouped ? `${graph.count[item]} nodes` : [graph.kindOf(item), graph.metaOpOf(item)].filter(Boolean).join(', ');
  if (what) lines.push(what);
  lines.push(`on ${placement.deviceWords(item)}`);
  const span = placement.spanOf(item);
  if (span) lines.push(`${formatTime(span.start, placement.unit)} to ${formatTime(span.end, placement.unit)}, takes ${formatTime(span.busy, placement.unit)}`);
  if (placement.criticalItem.has(item)) lines.push('on the critical chain');
  return lines;
}
