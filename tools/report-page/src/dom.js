// Elements, the tip at the mouse, and canvases that are as sharp as the screen.

// Text children are text: whatever a name holds, it is shown and not parsed.
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// Lines: an array of texts, the first of which is the heading.
export function showTip(event, lines) {
  const tip = document.getElementById('tip');
  if (!lines) {
    tip.hidden = true;
    return;
  }
  tip.replaceChildren(element('b', {}, lines[0]));
  for (const line of lines.slice(1)) tip.append(element('br'), line);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = event.clientX + 14 + box.width > innerWidth ? event.clientX - 14 - box.width : event.clientX + 14;
  const top = event.clientY + 16 + box.height > innerHeight ? event.clientY - 12 - box.height : event.clientY + 16;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}

export const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif";

// Draws at most once a frame: request() as often as needed.
export class Surface {
  constructor(canvas, draw) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.draw = draw;
    this.pending = false;
    this.width = this.height = 0;
    new ResizeObserver(() => this.request()).observe(canvas.parentElement);
  }

  request() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.now();
    });
  }

  // Of the given height, or as high as the element is.
  now() {
    const box = this.canvas.getBoundingClientRect();
    if (box.width === 0) return;
    const ratio = devicePixelRatio || 1;
    this.width = box.width;
    this.height = box.height;
    const [wide, high] = [Math.round(box.width * ratio), Math.round(box.height * ratio)];
    if (this.canvas.width !== wide || this.canvas.height !== high) {
      this.canvas.width = wide;
      this.canvas.height = high;
    }
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.draw(this.context, box.width, box.height);
  }

  // Where the mouse is on the canvas.
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }
}

// As much of a text as fits into a width, with "…" in place of the rest.
export function fitText(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(text.slice(0, middle) + '…').width <= width) low = middle;
    else high = middle - 1;
  }
  return low === 0 ? '' : text.slice(0, low) + '…';
}
