// Puts the page together from the data in it.
import { CurveView } from './curve_view.js';
import { element, showTip } from './dom.js';
import { formatCount } from './format.js';
import { GraphView, itemTip } from './graph_view.js';
import { Graph, Placement, Selection } from './model.js';
import { comparison, curveLegend, details, legend, summary, trainingWords, utilisation } from './sections.js';
import { Theme } from './theme.js';
import { GanttView, MOST_LANES, MemoryView, TimeWindow } from './time_view.js';

const MOST_FOUND = 50;

function toggleButton(text, on, changed) {
  const button = element('button', { 'aria-pressed': String(on), onclick: () => {
    const next = button.getAttribute('aria-pressed') !== 'true';
    button.setAttribute('aria-pressed', String(next));
    changed(next);
  } }, text);
  return button;
}

class PlacementsPart {
  constructor(placements, root) {
    this.placements = placements;
    this.selection = new Selection();
    this.window = new TimeWindow();
    const tipOf = (item) => itemTip(this.placement, item);
    this.graphView = new GraphView(this.selection, tipOf);
    this.gantt = new GanttView(this.window, this.selection, tipOf);
    this.memory = new MemoryView(this.window);
    this.places = Object.fromEntries(['comparison', 'summary', 'legend', 'details', 'note', 'lanes', 'utilisation']
      .map((name) => [name, element('div', name === 'details' ? { class: 'side' } : {})]));
    this.select = element('select', { 'aria-label': 'Placement', onchange: () => this.show(Number(this.select.value)) },
      ...placements.map((placement, index) => element('option', { value: index }, placement.name)));
    root.append(this.places.comparison, this.places.summary, this.graphSection(), this.timeSection(), this.places.utilisation);
    this.selection.listen(() => this.showDetails());
    this.show(0);
  }

  graphSection() {
    const note = this.places.note;
    return element('section', { 'aria-label': 'Graph' },
      element('div', { class: 'bar' }, element('h2', {}, 'Graph'), this.search(),
        toggleButton('Critical chain', true, (on) => {
          this.graphView.showCritical = this.gantt.showCritical = on;
          this.redraw();
        }),
        element('button', { 'aria-label': 'Zoom out', onclick: () => this.graphView.zoom(0.8) }, '−'),
        element('button', { 'aria-label': 'Zoom in', onclick: () => this.graphView.zoom(1.25) }, '+'),
        element('button', { onclick: () => this.graphView.fit() }, 'Fit')),
      element('div', { class: 'stage' }, this.graphView.root, this.places.details),
      this.places.legend, note);
  }

  timeSection() {
    return element('section', { class: 'long', 'aria-label': 'Timeline' },
      element('div', { class: 'bar' }, element('h2', {}, 'Timeline'),
        this.places.lanes,
        toggleButton('Channels', true, (on) => {
          this.gantt.showChannels = on;
          this.gantt.arrange();
        }),
        element('button', { 'aria-label': 'Zoom out in time', onclick: () => this.window.zoom(0.667) }, '−'),
        element('button', { 'aria-label': 'Zoom in in time', onclick: () => this.window.zoom(1.5) }, '+'),
        element('button', { onclick: () => this.window.move(0, this.window.end) }, 'Whole run')),
      this.gantt.root,
      element('div', { class: 'bar memory-head' }, element('h2', {}, 'Memory')),
      this.memory.root);
  }

  search() {
    const found = element('div', { class: 'found', hidden: '' });
    const input = element('input', { type: 'search', placeholder: 'Search by name', 'aria-label': 'Search by name' });
    const choose = (item) => {
      found.hidden = true;
      this.selection.set({ item }, input);
    };
    let first = null;
    const look = () => {
      const text = input.value.trim();
      first = null;
      found.replaceChildren();
      found.hidden = text === '';
      if (text === '') {
        this.selection.set({ found: new Set() }, this.graphView);
        return;
      }
      const result = this.placement.graph.find(text, MOST_FOUND);
      first = result.found[0] ?? null;
      result.found.forEach(({ item, name }, index) => found.append(
        element('button', { class: index === 0 ? 'first' : undefined, onclick: () => choose(item) }, name)));
      const left = result.count - result.found.length;
      if (result.count === 0) found.append(element('p', { class: 'hint' }, 'No name holds this.'));
      if (left > 0) found.append(element('p', { class: 'hint' }, `… and ${formatCount(left)} more`));
      this.selection.set({ found: result.items }, this.graphView);
    };
    input.addEventListener('input', look);
    input.addEventListener('focus', () => { if (input.value.trim() !== '') found.hidden = false; });
    input.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && first) choose(first.item);
      if (event.key === 'Escape') {
        input.value = '';
        look();
      }
    });
    document.addEventListener('pointerdown', (event) => {
      if (!event.target.closest('.search')) found.hidden = true;
    });
    return element('div', { class: 'search' }, input, found);
  }

  show(index) {
    const before = this.placement;
    const placement = this.placements[index];
    this.placement = placement;
    this.select.value = String(index);
    if (before && before.graph !== placement.graph) {
      this.selection.set({ item: -1, hover: -1, found: new Set() }, this);
    }
    if (this.placements.length > 1) {
      this.places.comparison.replaceChildren(comparison(this.placements, index, (other) => this.show(other)));
    }
    this.places.summary.replaceChildren(summary(placement));
    this.places.legend.replaceChildren(legend(placement));
    this.places.utilisation.replaceChildren(utilisation(placement));
    this.places.note.replaceChildren(element('p', { class: 'hint' }, this.graphNote(placement)));
    const { length } = placement.devices;
    this.places.lanes.replaceChildren(element('span', { class: 'hint' },
      `${length > MOST_LANES ? `The first ${MOST_LANES} of ${formatCount(length)} devices. ` : ''}Ctrl + wheel zooms, drag moves`));
    this.window.reset(placement.makespan);
    this.graphView.show(placement);
    this.gantt.show(placement);
    this.memory.show(placement);
    this.showDetails();
  }

  graphNote({ graph }) {
    const parts = [];
    if (graph.grouped) {
      parts.push(`${formatCount(graph.nodes)} nodes, drawn as ${formatCount(graph.size)} groups by ${graph.grouping}: ` +
        'colours show the shares of devices.');
    }
    if (graph.links_left_out > 0) parts.push(`${formatCount(graph.links_left_out)} links are not drawn.`);
    parts.push('Boxes are coloured by device; a red outline marks the critical chain. Ctrl + wheel zooms, drag moves.');
    return parts.join(' ');
  }

  showDetails() {
    this.places.details.replaceChildren(details(this.placement, this.selection.item, (item) => this.selection.set({ item }, null)));
  }

  redraw() {
    for (const view of [this.graphView, this.gantt, this.memory]) view.surface.request();
  }

  print(on) {
    this.gantt.print(on);
    this.memory.print(on);
    this.graphView.surface.now();
  }
}

function start() {
  const data = JSON.parse(document.getElementById('data').textContent);
  if (!data.placements) return;
  document.title = `${data.title} – Doppler report`;
  const page = document.getElementById('page');
  const graphs = data.graphs.map((graph) => new Graph(graph));
  const placements = data.placements.map((placement) => new Placement(placement, graphs[placement.graph]));
  const curves = [];
  let part = null;
  const theme = new Theme(() => {
    part?.redraw();
    for (const curve of curves) curve.surface.request();
  });
  const themeButton = element('button', { onclick: () => {
    theme.toggle();
    themeButton.textContent = theme.dark ? 'Light' : 'Dark';
  } }, theme.dark ? 'Light' : 'Dark');
  const head = element('header', {}, element('h1', {}, data.title));
  page.append(head);
  if (placements.length > 0) part = new PlacementsPart(placements, page);
  if (placements.length > 1) head.append(part.select);
  head.append(themeButton, element('button', { onclick: () => print() }, 'Print'));
  for (const training of data.trainings) {
    const curve = new CurveView(training);
    curves.push(curve);
    page.append(element('section', { 'aria-label': 'Training' }, element('div', { class: 'bar' },
      element('h2', {}, `${training.unit === 'runs' ? 'Service' : 'Training'} ${training.name}`)), trainingWords(training), curve.root, curveLegend(training)));
  }
  const printing = (on) => {
    theme.print(on);
    part?.print(on);
    for (const curve of curves) curve.surface.now();
  };
  addEventListener('beforeprint', () => printing(true));
  addEventListener('afterprint', () => printing(false));
  addEventListener('scroll', (event) => showTip(event, null), { passive: true });

  // For tests and for scripts in the console.
  window.doppler = { data, part, theme };
}

start();
