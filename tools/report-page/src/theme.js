// Colours: light or dark, and one for each device.

// Okabe and Ito's colours, which people with any common colour blindness tell apart. From the ninth
// device on they come again with a pattern.
const COLOURS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442', '#8c8c8c'];
const PATTERNS = ['solid', 'diagonal', 'dots', 'horizontal'];

export const deviceColour = (device) => COLOURS[device % COLOURS.length];
const patternOf = (device) => PATTERNS[Math.floor(device / COLOURS.length) % PATTERNS.length];
export const isPlain = (device) => patternOf(device) === 'solid';

// Black or white, whichever is easier to read on a colour.
export function inkOn(colour) {
  const channel = (at) => {
    const value = parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  const light = 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
  return light > 0.22 ? '#101418' : '#ffffff';
}

function drawPattern(context, pattern, size, colour) {
  context.fillStyle = colour;
  context.fillRect(0, 0, size, size);
  if (pattern === 'solid') return;
  context.strokeStyle = context.fillStyle = 'rgba(255, 255, 255, 0.75)';
  context.lineWidth = size / 5;
  context.beginPath();
  if (pattern === 'diagonal') {
    for (const shift of [-size, 0, size]) {
      context.moveTo(shift - 1, size + 1);
      context.lineTo(shift + size + 1, -1);
    }
    context.stroke();
  } else if (pattern === 'horizontal') {
    context.moveTo(0, size / 2);
    context.lineTo(size, size / 2);
    context.stroke();
  } else {
    context.arc(size / 2, size / 2, size / 5, 0, 7);
    context.fill();
  }
}

const tiles = new Map();
function tile(device) {
  if (!tiles.has(device)) {
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = 8;
    drawPattern(canvas.getContext('2d'), patternOf(device), 8, deviceColour(device));
    tiles.set(device, canvas);
  }
  return tiles.get(device);
}

// What to fill a device's shapes with.
export function deviceFill(context, device) {
  if (isPlain(device)) return deviceColour(device);
  return context.createPattern(tile(device), 'repeat');
}

export function deviceBackground(device) {
  if (isPlain(device)) return deviceColour(device);
  return `url(${tile(device).toDataURL()})`;
}

export function swatch(device) {
  const element = document.createElement('i');
  element.className = 'swatch';
  element.style.background = deviceBackground(device);
  return element;
}

// The page's colours as its style sheet has them now.
export function palette() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    panel: get('panel'), ink: get('ink'), soft: get('soft'), line: get('line'), faint: get('faint'),
    accent: get('accent'), mark: get('mark'), edge: get('edge'),
  };
}

// The system's choice until the reader makes another; paper is light.
export class Theme {
  constructor(changed) {
    this.system = matchMedia('(prefers-color-scheme: dark)');
    this.chosen = null;
    this.printing = false;
    this.changed = changed;
    this.system.addEventListener('change', () => this.apply());
    this.apply();
  }

  get dark() {
    return !this.printing && (this.chosen ?? this.system.matches);
  }

  toggle() {
    this.chosen = !this.dark;
    this.apply();
  }

  print(on) {
    this.printing = on;
    this.apply();
  }

  apply() {
    document.documentElement.dataset.theme = this.dark ? 'dark' : 'light';
    this.changed();
  }
}
