// How a training went, what was tried and the best so far, over the episodes; or a service over its runs.
import { FONT, Surface, element, showTip } from './dom.js';
import { formatCount, niceStep } from './format.js';
import { deviceColour, palette } from './theme.js';

const LEFT = 62;
const RIGHT = 16;
const TOP = 26;
const BOTTOM = 34;

export class CurveView {
  constructor(training) {
    this.training = training;
    this.canvas = element('canvas', { role: 'img', 'aria-label': 'Training curves' });
    this.root = element('div', { class: 'view curve' }, this.canvas);
    this.cursor = null;
    this.surface = new Surface(this.canvas, (...all) => this.draw(...all));
    const all = training.curves.flatMap((curve) => [...curve.mean, ...curve.best]).filter((value) => value !== null);
    this.last = Math.max(1, ...training.curves.map((curve) => curve.episodes.at(-1) ?? 0));
    const sorted = all.slice().sort((a, b) => a - b);
    // A few wild values at the start would flatten the rest.
    const high = sorted.length ? Math.max(sorted[Math.floor(sorted.length * 0.98)], 1.02) : 2;
    this.high = 1 + (high - 1) * 1.08;
    this.canvas.addEventListener('pointermove', (event) => this.hover(event));
    this.canvas.addEventListener('pointerleave', (event) => {
      this.cursor = null;
      showTip(event, null);
      this.surface.request();
    });
  }

  hover(event) {
    const { x } = this.surface.at(event);
    const at = ((x - LEFT) / (this.surface.width - LEFT - RIGHT)) * this.last;
    if (at < 0 || at > this.last) return;
    this.cursor = at;
    const lines = [`${formatCount(Math.round(at))} ${this.training.unit}`];
    for (const curve of this.training.curves.slice(0, 8)) {
      let i = curve.episodes.findIndex((episodes) => episodes >= at);
      if (i < 0) i = curve.episodes.length - 1;
      if (i < 0) continue;
      const text = (value) => (value === null ? '–' : value.toFixed(3));
      lines.push(`${curve.name ? curve.name + ': ' : ''}mean ${text(curve.mean[i])}, best ${text(curve.best[i])}`);
    }
    showTip(event, lines);
    this.surface.request();
  }

  draw(context, width, height) {
    const colours = palette();
    const { training } = this;
    const xOf = (episodes) => LEFT + (episodes / this.last) * (width - LEFT - RIGHT);
    const yOf = (share) => height - BOTTOM - ((Math.min(share, this.high) - 1) / (this.high - 1)) * (height - TOP - BOTTOM);
    context.fillStyle = colours.panel;
    context.fillRect(0, 0, width, height);
    context.font = `11px ${FONT}`;
    context.textBaseline = 'middle';
    context.lineWidth = 1;
    training.stages.forEach((stage, index) => {
      if (index % 2 === 1) {
        context.fillStyle = colours.faint;
        context.fillRect(xOf(stage.from), TOP, xOf(stage.to) - xOf(stage.from), height - TOP - BOTTOM);
      }
      context.fillStyle = colours.soft;
      context.textAlign = 'left';
      context.fillText(stage.name, xOf(stage.from) + 4, TOP / 2);
    });
    context.strokeStyle = colours.line;
    const step = niceStep(this.high - 1, 5);
    const places = Math.max(1, -Math.floor(Math.log10(step) + 1e-9));
    for (let share = 1; share <= this.high; share += step) {
      const y = Math.round(yOf(share)) + 0.5;
      context.beginPath();
      context.moveTo(LEFT, y);
      context.lineTo(width - RIGHT, y);
      context.stroke();
      context.textAlign = 'right';
      context.fillStyle = colours.soft;
      context.fillText(share.toFixed(places), LEFT - 8, y);
    }
    const across = niceStep(this.last, (width - LEFT) / 110);
    context.textAlign = 'center';
    for (let at = 0; at <= this.last; at += across) {
      const x = xOf(at);
      if (x < width - RIGHT - 24 || at === 0) context.fillText(formatCount(at), x, height - BOTTOM + 12);
    }
    context.textAlign = 'right';
    context.fillText(this.training.unit, width - RIGHT, height - 8);
    training.curves.forEach((curve, index) => {
      this.line(context, curve.episodes, curve.mean, xOf, yOf, deviceColour(index), [4, 3], 1.5);
      this.line(context, curve.episodes, curve.best, xOf, yOf, deviceColour(index), [], 2.4);
    });
    if (this.cursor !== null) {
      context.strokeStyle = colours.soft;
      context.setLineDash([3, 3]);
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(xOf(this.cursor), TOP);
      context.lineTo(xOf(this.cursor), height - BOTTOM);
      context.stroke();
      context.setLineDash([]);
    }
  }

  line(context, episodes, values, xOf, yOf, colour, dash, wide) {
    context.strokeStyle = colour;
    context.lineWidth = wide;
    context.setLineDash(dash);
    context.beginPath();
    let open = false;
    values.forEach((value, i) => {
      if (value === null) {
        open = false;
        return;
      }
      if (open) context.lineTo(xOf(episodes[i]), yOf(value));
      else context.moveTo(xOf(episodes[i]), yOf(value));
      open = true;
    });
    context.stroke();
    context.setLineDash([]);
  }
}
