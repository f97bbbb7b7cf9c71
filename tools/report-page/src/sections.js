// The parts of the page that are words and tables.
import { element } from './dom.js';
import { formatBytes, formatCount, formatShare, formatTime } from './format.js';
import { deviceBackground, swatch } from './theme.js';

const MOST_NEIGHBOURS = 12;

function card(label, value, note) {
  return element('div', { class: 'card' }, element('div', { class: 'label' }, label),
    element('div', { class: 'value' }, value), element('div', { class: 'note' }, note ?? ''));
}

function gapWords(placement) {
  if (placement.bound.met) return 'optimal: meets the bound';
  if (!(placement.bound.value > 0)) return '';
  const gap = placement.makespan / placement.bound.value - 1;
  return `${formatShare(gap)} above the ${placement.bound.name} bound`;
}

const peakOf = (placement) => placement.devices.reduce((most, device) => (device.peak_bytes > most.peak_bytes ? device : most));
const meanBusy = (placement) => placement.devices.reduce((sum, device) => sum + device.busy, 0) / placement.devices.length;

export function summary(placement) {
  const { unit } = placement;
  const peak = peakOf(placement);
  const robust = placement.robust.mean / placement.makespan - 1;
  const anyOrder = placement.any_order.mean / placement.makespan - 1;
  const more = (share) => (Number.isFinite(share) ? `${share >= 0 ? '+' : '−'}${formatShare(Math.abs(share))} on average` : '');
  const cards = element('div', { class: 'cards' },
    card('Makespan', formatTime(placement.makespan, unit), gapWords(placement)),
    card('With noisy costs', formatTime(placement.robust.mean, unit), more(robust)),
    card('In any order', formatTime(placement.any_order.mean, unit), more(anyOrder)),
    card('Devices busy', formatShare(meanBusy(placement)), `on average over ${placement.devices.length}`),
    card('Data moved', formatBytes(placement.bytes_moved), 'between devices'),
    card('Peak memory', formatBytes(peak.peak_bytes),
      peak.capacity_bytes === null ? `on ${peak.name}` : `on ${peak.name}, of ${formatBytes(peak.capacity_bytes)}`));
  const words = element('div', { class: 'words' });
  if (placement.excess_bytes > 0) {
    words.append(element('p', { class: 'warning' }, `This run does not fit: ${formatBytes(placement.excess_bytes)} above capacity.`));
  }
  const sentences = element('div', {}, ...placement.explanation.map((line) => element('p', {}, line)));
  words.append(sentences);
  // "graph    g.json: 30 nodes", wrapped lines are indented.
  const subject = element('dl', { class: 'subject' });
  for (const line of placement.subject) {
    const found = /^(\S+)\s+(.*)$/.exec(line);
    if (found && !line.startsWith(' ')) subject.append(element('dt', {}, found[1]), element('dd', {}, found[2]));
    else if (subject.lastChild) subject.lastChild.append(` ${line.trim()}`);
  }
  if (placement.method) subject.append(element('dt', {}, 'method'), element('dd', {}, `${placement.method}, seed ${placement.seed}`));
  words.append(subject);
  return element('section', { 'aria-label': 'Summary' }, cards, words);
}

function table(head, rows, kind) {
  return element('div', { class: kind ?? 'scroll' }, element('table', {},
    element('thead', {}, element('tr', {}, ...head.map(([title, text]) => element('th', { class: text ? 'text' : undefined, scope: 'col' }, title)))),
    element('tbody', {}, ...rows)));
}

export function comparison(placements, chosen, choose) {
  // Makespans compare where graph and unit are the same.
  const groupOf = (placement) => `${placement.graph}\n${placement.unit}`;
  const best = new Map();
  for (const placement of placements) {
    const key = groupOf(placement);
    best.set(key, Math.min(best.get(key) ?? Infinity, placement.makespan));
  }
  const several = best.size > 1;
  const rows = placements.map((placement, index) => {
    const least = best.get(groupOf(placement));
    const { unit } = placement;
    const cells = [
      element('td', { class: 'name', title: placement.name }, placement.name),
      several ? element('td', { class: 'text name', title: placement.graph_path }, placement.graph_path.split('/').pop()) : null,
      element('td', { class: 'text' }, placement.devices_name),
      element('td', { class: 'text' }, placement.method || '–'),
      element('td', { class: placement.makespan === least ? 'best' : undefined }, formatTime(placement.makespan, unit)),
      element('td', {}, least > 0 ? (placement.makespan / least).toFixed(3) : '–'),
      element('td', {}, placement.bound.met ? 'optimal' : formatShare(placement.makespan / placement.bound.value - 1)),
      element('td', {}, formatTime(placement.robust.mean, unit)),
      element('td', {}, formatTime(placement.any_order.mean, unit)),
      element('td', {}, formatShare(meanBusy(placement))),
      element('td', {}, formatBytes(placement.bytes_moved)),
      element('td', {}, formatBytes(peakOf(placement).peak_bytes)),
    ];
    const row = element('tr', { class: `pick${index === chosen ? ' chosen' : ''}`, tabindex: 0, onclick: () => choose(index),
      onkeydown: (event) => { if (event.key === 'Enter') choose(index); } }, ...cells);
    return row;
  });
  const head = [['placement', true], several ? ['graph', true] : null, ['devices', true], ['method', true], ['makespan'], ['vs best'],
    ['above bound'], ['noisy costs'], ['any order'], ['busy'], ['moved'], ['peak memory']].filter(Boolean);
  return element('section', { 'aria-label': 'Comparison' }, element('div', { class: 'bar' }, element('h2', {}, 'Comparison'),
    element('span', { class: 'hint' }, 'a row shows its placement below')), table(head, rows));
}

export function utilisation(placement) {
  const rows = placement.devices.map((device, index) => {
    const fill = element('i', { style: `width:${(100 * device.busy).toFixed(1)}%` });
    fill.style.background = deviceBackground(index);
    return element('tr', {},
      element('td', {}, swatch(index), device.name),
      element('td', { class: 'text' }, device.kind),
      element('td', {}, formatCount(device.nodes)),
      element('td', {}, formatShare(device.busy), element('span', { class: 'meter' }, fill)),
      element('td', {}, formatBytes(device.peak_bytes)),
      element('td', {}, device.capacity_bytes === null ? 'no limit' : formatBytes(device.capacity_bytes)));
  });
  const devices = table([['device', true], ['kind', true], ['nodes'], ['busy'], ['peak memory'], ['capacity']], rows, 'tall');
  const tables = [devices];
  const channels = placement.channels.filter((channel) => channel.busy !== undefined);
  if (channels.length > 0) {
    channels.sort((a, b) => b.busy - a.busy);
    const channelRows = channels.map((channel) => element('tr', {}, element('td', {}, channel.name),
      element('td', {}, formatShare(channel.busy), element('span', { class: 'meter' },
        element('i', { style: `width:${(100 * channel.busy).toFixed(1)}%;background:var(--soft)` })))));
    tables.push(table([['channel', true], ['busy']], channelRows, 'tall'));
  }
  return element('section', { class: 'long', 'aria-label': 'Utilisation' },
    element('div', { class: 'bar' }, element('h2', {}, 'Utilisation')), element('div', { class: 'tables' }, ...tables));
}

export function legend(placement) {
  const shown = placement.devices.slice(0, 64);
  const parts = shown.map((device, index) => element('span', {}, swatch(index), device.name));
  if (shown.length < placement.devices.length) parts.push(element('span', {}, `… and ${placement.devices.length - shown.length} more`));
  return element('div', { class: 'legend' }, ...parts);
}

// What is known of the chosen item.
export function details(placement, item, choose) {
  if (item < 0) {
    return element('div', { class: 'details' },
      element('p', { class: 'hint' }, 'Click a node in the graph or a bar of the timeline, or search by name: its figures stand here, and it is marked in both.'));
  }
  const { graph, unit } = placement;
  const list = element('dl');
  const add = (term, value) => {
    if (value) list.append(element('dt', {}, term), element('dd', {}, value));
  };
  add('kind', graph.grouped ? '' : graph.kindOf(item));
  add('meta-op', graph.metaOpOf(item));
  if (graph.grouped) add('nodes', formatCount(graph.count[item]));
  add('device', placement.deviceWords(item));
  const span = placement.spanOf(item);
  if (span) {
    add('starts', formatTime(span.start, unit));
    add('ends', formatTime(span.end, unit));
    add('takes', formatTime(span.busy, unit));
  }
  if (graph.output_bytes) add('makes', formatBytes(graph.output_bytes[item]));
  add('critical', placement.criticalItem.has(item) ? 'yes' : 'no');
  const others = (title, items) => {
    if (items.length === 0) return [];
    const rows = Array.from(items).slice(0, MOST_NEIGHBOURS).map((other) => element('li', {},
      element('button', { onclick: () => choose(other) }, swatch(placement.mainDevice(other)), graph.names[other])));
    if (items.length > MOST_NEIGHBOURS) rows.push(element('li', { class: 'hint' }, `… and ${items.length - MOST_NEIGHBOURS} more`));
    return [element('div', { class: 'hint' }, title), element('ul', {}, ...rows)];
  };
  return element('div', { class: 'details' }, element('h3', {}, graph.names[item]), list,
    ...others('reads from', graph.before(item)), ...others('read by', graph.after(item)));
}

export function trainingWords(training) {
  const words = element('div', {}, ...training.facts.map((fact) => element('p', {}, fact)));
  if (training.unit === 'episodes') {
    words.append(element('p', { class: 'hint' },
      'Times as multiples of the best found: dashed what was tried on average, solid the best so far.'));
  }
  return words;
}

export function curveLegend(training) {
  if (training.curves.length < 2) return null;
  return element('div', { class: 'legend' }, ...training.curves.map((curve, index) => element('span', {}, swatch(index), curve.name)));
}
