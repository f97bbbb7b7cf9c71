// Quantities as people read them, like doppler/base/units.h.

function digits(value, count) {
  const size = Math.abs(value);
  const before = size >= 1 ? Math.floor(Math.log10(size)) + 1 : 1;
  return value.toFixed(Math.max(0, count - before));
}

// `unit` is the graph's; seconds are scaled.
export function formatTime(time, unit) {
  if (!Number.isFinite(time)) return '–';
  const size = Math.abs(time);
  if (unit !== 's') {
    const far = size !== 0 && (size < 1e-3 || size >= 1e7);
    return `${far ? time.toExponential(3) : +digits(time, 4)} ${unit}`;
  }
  if (size === 0) return '0 s';
  if (size >= 1) return `${digits(time, 4)} s`;
  if (size >= 1e-3) return `${digits(time * 1e3, 4)} ms`;
  if (size >= 1e-6) return `${digits(time * 1e6, 4)} µs`;
  return `${digits(time * 1e9, 4)} ns`;
}

export function formatBytes(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let unit = 0;
  while (Math.abs(bytes) >= 1024 && unit + 1 < units.length) {
    bytes /= 1024;
    ++unit;
  }
  return `${unit === 0 ? Math.round(bytes) : digits(bytes, 3)} ${units[unit]}`;
}

export const formatCount = (count) => count.toLocaleString('en-US');
export function formatShare(share) {
  if (!Number.isFinite(share)) return '–';
  if (share > 0 && share < 0.0005) return '< 0.1 %';
  return `${(100 * share).toFixed(1)} %`;
}

// A step of 1, 2 or 5 times a power of ten that gives about `count` ticks over a range.
export function niceStep(range, count) {
  const raw = range / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const factor = raw / power;
  return power * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
}

// Labels of an axis of times: one unit for all, and as many digits as tell them apart.
export function timeAxis(from, to, unit, count) {
  const largest = Math.max(Math.abs(from), Math.abs(to));
  let scale = 1;
  let name = unit;
  if (unit === 's' && largest < 1) {
    [scale, name] = largest >= 1e-3 ? [1e3, 'ms'] : largest >= 1e-6 ? [1e6, 'µs'] : [1e9, 'ns'];
  }
  const step = niceStep((to - from) * scale, count);
  const places = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let i = Math.ceil((from * scale) / step - 1e-9); i * step <= to * scale * (1 + 1e-12); ++i) {
    ticks.push({ at: (i * step) / scale, text: (i * step).toFixed(places) });
    if (ticks.length > 200) break;
  }
  return { ticks, unit: name };
}
