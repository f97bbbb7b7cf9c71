// What each device and channel did over time, and how much memory was in use, on one time axis:
// drag to move, Ctrl and wheel to zoom.
import { FONT, Surface, element, fitText, showTip } from './dom.js';
import { formatBytes, formatTime, timeAxis } from './format.js';
import { deviceColour, deviceFill, inkOn, isPlain, palette } from './theme.js';

const LABEL = 118; // width of the names of lanes
const RIGHT = 14;
const AXIS = 26;
const LANE = 24;
const THIN = 15; // lanes of channels
const MEMORY = 44;
export const MOST_LANES = 160; // of devices, and as many of channels

// The part of the run that is shown, shared by both charts.
export class TimeWindow {
  constructor() {
    this.listeners = [];
    this.reset(1);
  }

  reset(end) {
    this.end = end > 0 ? end : 1;
    this.from = 0;
    this.to = this.end;
    this.cursor = null;
    this.tell();
  }

  tell() {
    for (const listener of this.listeners) listener();
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    const length = Math.min(this.end, Math.max(this.end * 1e-6, (this.to - this.from) / factor));
    const share = (at - this.from) / (this.to - this.from);
    this.move(at - share * length, length);
  }

  move(from, length = this.to - this.from) {
    this.from = Math.min(Math.max(0, from), this.end - length);
    this.to = this.from + length;
    this.tell();
  }

  include(start, end) {
    if (start >= this.from && end <= this.to) return;
    const length = Math.max(this.to - this.from, Math.min(this.end, (end - start) * 3));
    this.move((start + end) / 2 - length / 2, length);
  }

  point(cursor) {
    this.cursor = cursor;
    this.tell();
  }
}

// What both charts do with the mouse, and their axis.
class TimeChart {
  constructor(window, kind, label) {
    this.window = window;
    this.canvas = element('canvas', { tabindex: 0, role: 'img', 'aria-label': label });
    this.spacer = element('div');
    this.root = element('div', { class: `view lanes ${kind}` }, this.canvas, this.spacer);
    this.surface = new Surface(this.canvas, (...all) => this.draw(...all));
    this.root.addEventListener('scroll', () => this.surface.request());
    window.listeners.push(() => this.surface.request());
    this.placement = null;
    this.printing = false;
    this.listen();
  }

  // The canvas is as high as can be seen; the spacer makes the rest to scroll.
  resize(height) {
    this.full = height;
    const limit = this.printing ? Infinity : parseFloat(getComputedStyle(this.root).maxHeight) || 600;
    const seen = Math.min(height, limit - 2);
    this.canvas.style.height = `${seen}px`;
    this.spacer.style.height = `${Math.max(0, height - seen)}px`;
    this.surface.request();
  }

  print(on) {
    this.printing = on;
    if (this.placement) this.resize(this.full);
    this.surface.now();
  }

  xOf(time) {
    const width = this.surface.width - LABEL - RIGHT;
    return LABEL + ((time - this.window.from) / (this.window.to - this.window.from)) * width;
  }

  timeAt(x) {
    const width = this.surface.width - LABEL - RIGHT;
    return this.window.from + ((x - LABEL) / width) * (this.window.to - this.window.from);
  }

  listen() {
    let grip = null;
    this.canvas.addEventListener('pointerdown', (event) => {
      grip = { ...this.surface.at(event), from: this.window.from, moved: false };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener('pointermove', (event) => {
      const at = this.surface.at(event);
      if (grip) {
        grip.moved ||= Math.abs(at.x - grip.x) > 4;
        if (grip.moved) {
          const perPixel = (this.window.to - this.window.from) / (this.surface.width - LABEL - RIGHT);
          this.window.move(grip.from - (at.x - grip.x) * perPixel);
          showTip(event, null);
        }
        return;
      }
      this.window.point(at.x >= LABEL && at.x <= this.surface.width - RIGHT ? this.timeAt(at.x) : null);
      this.hover(event, at);
    });
    this.canvas.addEventListener('pointerup', (event) => {
      if (grip && !grip.moved) this.click(this.surface.at(event));
      grip = null;
    });
    this.canvas.addEventListener('pointerleave', (event) => {
      this.window.point(null);
      this.leave();
      showTip(event, null);
    });
    this.canvas.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.window.zoom(Math.exp(-event.deltaY * 0.0022), this.timeAt(Math.max(LABEL, this.surface.at(event).x)));
    }, { passive: false });
    this.canvas.addEventListener('keydown', (event) => {
      const step = (this.window.to - this.window.from) / 10;
      if (event.key === '+' || event.key === '=') this.window.zoom(1.25);
      else if (event.key === '-') this.window.zoom(0.8);
      else if (event.key === '0') this.window.move(0, this.window.end);
      else if (event.key === 'ArrowLeft') this.window.move(this.window.from - step);
      else if (event.key === 'ArrowRight') this.window.move(this.window.from + step);
      else return;
      event.preventDefault();
    });
  }

  click() {}
  leave() {}

  drawAxis(context, width, height, colours, top) {
    const { ticks, unit } = timeAxis(this.window.from, this.window.to, this.placement.unit, (width - LABEL) / 90);
    context.font = `11px ${FONT}`;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.lineWidth = 1;
    for (const tick of ticks) {
      const x = Math.round(this.xOf(tick.at)) + 0.5;
      context.strokeStyle = colours.faint;
      context.beginPath();
      context.moveTo(x, top);
      context.lineTo(x, height);
      context.stroke();
      context.fillStyle = colours.soft;
      if (x < width - 24) context.fillText(tick.text, x, top - AXIS / 2);
    }
    context.textAlign = 'left';
    context.fillStyle = colours.soft;
    context.fillText(`time, ${unit}`, 10, top - AXIS / 2);
  }

  drawCursor(context, height, colours, top) {
    if (this.window.cursor === null) return;
    const x = Math.round(this.xOf(this.window.cursor)) + 0.5;
    context.strokeStyle = colours.soft;
    context.lineWidth = 1;
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, height);
    context.stroke();
    context.setLineDash([]);
  }
}

export class GanttView extends TimeChart {
  constructor(window, selection, tipOf) {
    super(window, 'gantt', 'What each device and channel did over time');
    this.selection = selection;
    this.tipOf = tipOf;
    this.showChannels = true;
    this.showCritical = true;
    selection.listen((source) => {
      if (source !== this && selection.item >= 0) this.reveal(selection.item);
      this.surface.request();
    });
  }

  show(placement) {
    this.placement = placement;
    this.arrange();
  }

  // Lanes from top to bottom, each with its bars by rising start.
  arrange() {
    const { placement } = this;
    this.lanes = placement.devices.slice(0, MOST_LANES).map((device, index) => ({
      name: device.name, device: index, high: LANE, bars: [], rows: 1,
    }));
    for (let i = 0; i < placement.nodeBars; ++i) {
      const bar = placement.bar(placement.bars, i);
      bar.critical = placement.criticalNode.has(i);
      bar.row = 0;
      if (bar.lane < this.lanes.length) this.lanes[bar.lane].bars.push(bar);
    }
    if (this.showChannels) {
      const channels = placement.channels.slice(0, MOST_LANES).map((channel) => ({
        name: channel.name, device: -1, high: THIN, bars: [], rows: 1,
      }));
      for (let i = 0; i < placement.transferBars; ++i) {
        const bar = placement.bar(placement.transfers, i);
        const [from, to, ...route] = placement.routes[bar.lane];
        const critical = placement.criticalTransfer.has(i);
        for (const lane of route) {
          if (lane < channels.length) channels[lane].bars.push({ ...bar, from, to, critical, row: 0 });
        }
      }
      for (const lane of channels) stack(lane);
      this.lanes.push(...channels);
    }
    let top = 0;
    for (const lane of this.lanes) {
      lane.top = top;
      top += lane.high;
    }
    this.resize(AXIS + top + 6);
  }

  screenOf(item) {
    for (const lane of this.lanes) {
      const bar = lane.device >= 0 && lane.bars.find((one) => one.item === item);
      if (bar) {
        const [x1, x2] = [this.xOf(bar.start), this.xOf(bar.end)];
        return { x: (x1 + x2) / 2, y: AXIS + lane.top + lane.high / 2 - this.root.scrollTop };
      }
    }
    return null;
  }

  reveal(item) {
    const span = this.placement.spanOf(item);
    if (span) this.window.include(span.start, span.end);
    const lane = this.lanes.find((one) => one.device === this.placement.mainDevice(item));
    if (!lane) return;
    const [low, high] = [this.root.scrollTop, this.root.scrollTop + this.surface.height - AXIS];
    if (lane.top < low || lane.top + lane.high > high) this.root.scrollTop = Math.max(0, lane.top - 60);
  }

  barAt({ x, y }) {
    const at = y - AXIS + this.root.scrollTop;
    if (y < AXIS || x < LABEL) return null;
    const lane = this.lanes.find((one) => at >= one.top && at < one.top + one.high);
    if (!lane) return null;
    const perPixel = (this.window.to - this.window.from) / (this.surface.width - LABEL - RIGHT);
    const time = this.timeAt(x);
    let best = null;
    let nearest = 2 * perPixel;
    for (const bar of lane.bars) {
      const away = Math.max(bar.start - time, time - bar.end, 0);
      const inRow = lane.rows === 1 || Math.floor(((at - lane.top) / lane.high) * lane.rows) === bar.row;
      if (inRow && away <= nearest) {
        nearest = away;
        best = bar;
      }
    }
    return best ? { lane, bar: best } : null;
  }

  hover(event, at) {
    const hit = this.barAt(at);
    this.canvas.style.cursor = hit && hit.bar.item >= 0 ? 'pointer' : 'default';
    this.selection.set({ hover: hit ? hit.bar.item : -1 }, this);
    if (!hit) return showTip(event, null);
    const { placement } = this;
    const { lane, bar } = hit;
    const span = `${formatTime(bar.start, placement.unit)} to ${formatTime(bar.end, placement.unit)}, takes ${formatTime(bar.end - bar.start, placement.unit)}`;
    const name = bar.item >= 0 ? placement.graph.names[bar.item] : lane.device >= 0 ? 'several nodes' : 'an input';
    if (lane.device >= 0) return showTip(event, [name, `on ${lane.name}`, span]);
    return showTip(event, [`result of ${name}`, `${placement.devices[bar.from].name} to ${placement.devices[bar.to].name}`, span]);
  }

  leave() {
    this.selection.set({ hover: -1 }, this);
  }

  click(at) {
    const hit = this.barAt(at);
    this.selection.set({ item: hit ? hit.bar.item : -1 }, this);
  }

  draw(context, width, height) {
    if (!this.placement) return;
    const colours = palette();
    context.fillStyle = colours.panel;
    context.fillRect(0, 0, width, height);
    const scroll = this.root.scrollTop;
    context.save();
    context.beginPath();
    context.rect(0, AXIS, width, height - AXIS);
    context.clip();
    for (const lane of this.lanes) {
      const y = AXIS + lane.top - scroll;
      if (y + lane.high < AXIS || y > height) continue;
      this.drawLane(context, lane, y, width, colours);
    }
    context.restore();
    this.drawAxis(context, width, height, colours, AXIS);
    context.save();
    context.beginPath();
    context.rect(LABEL, AXIS, width - LABEL - RIGHT + 2, height - AXIS);
    context.clip();
    for (const lane of this.lanes) {
      const y = AXIS + lane.top - scroll;
      if (y + lane.high < AXIS || y > height) continue;
      this.drawBars(context, lane, y, width, colours);
    }
    context.restore();
    this.drawCursor(context, height, colours, AXIS);
  }

  drawLane(context, lane, y, width, colours) {
    context.strokeStyle = colours.faint;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(0, Math.round(y + lane.high) + 0.5);
    context.lineTo(width, Math.round(y + lane.high) + 0.5);
    context.stroke();
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    context.font = lane.device >= 0 ? `600 12px ${FONT}` : `11px ${FONT}`;
    let x = 10;
    if (lane.device >= 0) {
      context.fillStyle = deviceFill(context, lane.device);
      context.fillRect(10, y + lane.high / 2 - 5, 10, 10);
      x = 26;
    }
    context.fillStyle = lane.device >= 0 ? colours.ink : colours.soft;
    context.fillText(fitText(context, lane.name, LABEL - x - 8), x, y + lane.high / 2 + 0.5);
  }

  drawBars(context, lane, y, width, colours) {
    const { selection } = this;
    const fill = lane.device >= 0 ? deviceFill(context, lane.device) : null;
    const gap = lane.device >= 0 ? 3 : 2;
    const high = (lane.high - 2 * gap) / lane.rows;
    const ink = lane.device >= 0 ? inkOn(deviceColour(lane.device)) : null;
    const chosen = [];
    const last = new Float64Array(lane.rows).fill(-1);
    context.font = `11px ${FONT}`;
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    for (const bar of lane.bars) {
      if (bar.end < this.window.from || bar.start > this.window.to) continue;
      const x1 = this.xOf(bar.start);
      const x2 = Math.max(this.xOf(bar.end), x1 + 0.75);
      const top = y + gap + bar.row * high;
      if (bar.item >= 0 && (bar.item === selection.item || bar.item === selection.hover)) chosen.push([bar, x1, x2, top]);
      const critical = this.showCritical && bar.critical;
      if (x2 <= last[bar.row] + 0.5 && !critical) continue; // nothing new to see
      last[bar.row] = x2;
      const seam = x2 - x1 > 3 ? 0.6 : 0;
      context.fillStyle = fill ?? deviceColour(bar.from);
      context.fillRect(x1, top, x2 - x1 - seam, high - (lane.rows > 1 ? 0.5 : 0));
      if (critical) {
        context.fillStyle = colours.mark;
        context.fillRect(x1, top + high - 3, Math.max(1, x2 - x1 - seam), 3);
      }
      if (ink && x2 - x1 > 34 && bar.item >= 0) {
        const left = Math.max(x1, LABEL);
        const text = fitText(context, this.placement.graph.names[bar.item], x2 - left - 8);
        if (!isPlain(lane.device) && text) { // letters on stripes cannot be read
          context.fillStyle = deviceColour(lane.device);
          context.fillRect(left + 2, top + 2, context.measureText(text).width + 4, high - 5);
        }
        context.fillStyle = ink;
        context.fillText(text, left + 4, top + high / 2);
      }
    }
    for (const [bar, x1, x2, top] of chosen) {
      context.strokeStyle = colours.ink;
      context.lineWidth = bar.item === selection.item ? 2.5 : 1.5;
      context.strokeRect(x1 - 1, top - 1, Math.max(x2 - x1, 3) + 2, high + 2);
    }
  }
}

// Transfers that share a lane at one time go into rows of it, four at the most.
function stack(lane) {
  lane.bars.sort((a, b) => a.start - b.start);
  const ends = [];
  for (const bar of lane.bars) {
    let row = ends.findIndex((end) => end <= bar.start * (1 + 1e-9));
    if (row < 0) row = ends.length < 4 ? ends.length : ends.indexOf(Math.min(...ends));
    ends[row] = Math.max(ends[row] ?? 0, bar.end);
    bar.row = row;
  }
  lane.rows = Math.max(1, ends.length);
  if (lane.rows > 1) lane.high = 4 + lane.rows * 7;
}

export class MemoryView extends TimeChart {
  constructor(window) {
    super(window, 'memory', 'Memory in use on each device over time');
  }

  show(placement) {
    this.placement = placement;
    this.devices = placement.devices.slice(0, MOST_LANES);
    this.most = Math.max(1, ...placement.devices.map((device) => device.peak_bytes));
    this.resize(AXIS + this.devices.length * MEMORY + 6);
  }

  // Bytes on a device at a time.
  bytesAt(device, time) {
    const samples = device.memory;
    let [low, high] = [0, samples.length / 2];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (samples[middle * 2] * this.placement.tick <= time) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? 0 : samples[low * 2 - 1];
  }

  hover(event, at) {
    const index = Math.floor((at.y - AXIS + this.root.scrollTop) / MEMORY);
    const device = this.devices[index];
    if (!device || at.y < AXIS || this.window.cursor === null) return showTip(event, null);
    const lines = [`${device.name}: ${formatBytes(this.bytesAt(device, this.window.cursor))}`,
      `at ${formatTime(this.window.cursor, this.placement.unit)}`];
    if (device.capacity_bytes !== null) lines.push(`of ${formatBytes(device.capacity_bytes)}`);
    return showTip(event, lines);
  }

  draw(context, width, height) {
    if (!this.placement) return;
    const colours = palette();
    context.fillStyle = colours.panel;
    context.fillRect(0, 0, width, height);
    this.drawAxis(context, width, height, colours, AXIS);
    context.save();
    context.beginPath();
    context.rect(0, AXIS, width, height - AXIS);
    context.clip();
    this.devices.forEach((device, index) => {
      const y = AXIS + index * MEMORY - this.root.scrollTop;
      if (y + MEMORY >= AXIS && y <= height) this.drawDevice(context, device, index, y, width, colours);
    });
    context.restore();
    this.drawCursor(context, height, colours, AXIS);
  }

  drawDevice(context, device, index, y, width, colours) {
    const { tick } = this.placement;
    const base = y + MEMORY - 4;
    const heightOf = (bytes) => (bytes / this.most) * (MEMORY - 12);
    context.save();
    context.beginPath();
    context.rect(LABEL, y, width - LABEL - RIGHT, MEMORY);
    context.clip();
    context.beginPath();
    context.moveTo(this.xOf(0), base);
    let level = base;
    for (let i = 0; i < device.memory.length; i += 2) {
      const x = this.xOf(device.memory[i] * tick);
      context.lineTo(x, level);
      level = base - heightOf(device.memory[i + 1]);
      context.lineTo(x, level);
    }
    context.lineTo(this.xOf(this.window.end), level);
    context.lineTo(this.xOf(this.window.end), base);
    context.closePath();
    context.globalAlpha = 0.75;
    context.fillStyle = deviceFill(context, index);
    context.fill();
    context.globalAlpha = 1;
    if (device.capacity_bytes !== null && device.capacity_bytes <= this.most) {
      const limit = Math.round(base - heightOf(device.capacity_bytes)) + 0.5;
      context.strokeStyle = colours.mark;
      context.setLineDash([6, 3]);
      context.beginPath();
      context.moveTo(LABEL, limit);
      context.lineTo(width - RIGHT, limit);
      context.stroke();
      context.setLineDash([]);
    }
    context.restore();
    context.strokeStyle = colours.faint;
    context.beginPath();
    context.moveTo(0, Math.round(y + MEMORY) + 0.5);
    context.lineTo(width, Math.round(y + MEMORY) + 0.5);
    context.stroke();
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    context.fillStyle = colours.ink;
    context.font = `600 12px ${FONT}`;
    context.fillText(fitText(context, device.name, LABEL - 18), 10, y + MEMORY / 2 - 7);
    context.font = `11px ${FONT}`;
    context.fillStyle = colours.soft;
    context.fillText(`peak ${formatBytes(device.peak_bytes)}`, 10, y + MEMORY / 2 + 8);
  }
}
