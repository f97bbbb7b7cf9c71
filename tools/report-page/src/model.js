// The data as the views need it: what belongs to which item, both ways.

// A graph: items are nodes, or groups of nodes.
export class Graph {
  constructor(data) {
    Object.assign(this, data);
    this.size = data.names.length;
    this.grouped = data.grouping !== '';
    const starts = (end) => {
      const first = new Uint32Array(this.size + 1);
      for (let i = end; i < data.links.length; i += 2) ++first[data.links[i] + 1];
      for (let v = 0; v < this.size; ++v) first[v + 1] += first[v];
      const next = first.slice();
      const others = new Uint32Array(data.links.length / 2);
      for (let i = end; i < data.links.length; i += 2) others[next[data.links[i]]++] = data.links[i ^ 1];
      return (item) => others.subarray(first[item], first[item + 1]);
    };
    this.after = starts(0);
    this.before = starts(1);
  }

  kindOf(item) {
    return this.kind ? this.kinds[this.kind[item]] : '';
  }

  metaOpOf(item) {
    return this.meta_op && this.meta_op[item] >= 0 ? this.meta_ops[this.meta_op[item]] : '';
  }

  // Items whose name, or the name of one of their nodes, holds the text: those that begin with it
  // first. Each with the name that was found.
  find(text, most) {
    const wanted = text.toLowerCase();
    const first = [];
    const rest = [];
    for (let item = 0; item < this.size; ++item) {
      const at = this.names[item].toLowerCase().indexOf(wanted);
      if (at === 0) first.push({ item, name: this.names[item] });
      else if (at > 0) rest.push({ item, name: this.names[item] });
      else if (this.members) {
        const member = this.members[item].split('\n').find((name) => name.toLowerCase().includes(wanted));
        if (member !== undefined) rest.push({ item, name: member });
      }
    }
    const all = first.concat(rest);
    return { found: all.slice(0, most), count: all.length, items: new Set(all.map((match) => match.item)) };
  }
}

const BAR = 4; // numbers of a bar: lane, item, start, duration

// A placement with its run. Times of bars are in ticks until they are asked for.
export class Placement {
  constructor(data, graph) {
    Object.assign(this, data);
    this.graph = graph;
    this.unit = data.time_unit;
    this.nodeBars = data.bars.length / BAR;
    this.transferBars = data.transfers.length / BAR;
    this.criticalNode = new Set(data.critical_bars);
    this.criticalTransfer = new Set(data.critical_transfers);
    this.criticalItem = new Set(data.critical_bars.map((i) => data.bars[i * BAR + 1]));
    this.barsOf = new Map();
    for (let i = 0; i < this.nodeBars; ++i) {
      const item = data.bars[i * BAR + 1];
      if (this.barsOf.has(item)) this.barsOf.get(item).push(i);
      else this.barsOf.set(item, [i]);
    }
  }

  bar(list, i) {
    const start = list[i * BAR + 2] * this.tick;
    return { lane: list[i * BAR], item: list[i * BAR + 1], start, end: start + list[i * BAR + 3] * this.tick };
  }

  // [device, how many of the item's nodes] with most first.
  sharesOf(item) {
    if (!this.shares) return [[this.device[item], 1]];
    const flat = this.shares[item];
    const pairs = [];
    for (let i = 0; i < flat.length; i += 2) pairs.push([flat[i], flat[i + 1]]);
    return pairs.sort((a, b) => b[1] - a[1]);
  }

  mainDevice(item) {
    return this.sharesOf(item)[0][0];
  }

  deviceWords(item) {
    const shares = this.sharesOf(item);
    if (shares.length === 1) return this.devices[shares[0][0]].name;
    return shares.slice(0, 4).map(([device, count]) => `${this.devices[device].name} (${count})`).join(', ') +
      (shares.length > 4 ? ', …' : '');
  }

  // From the start of its first bar to the end of its last, and the time that it takes in all.
  spanOf(item) {
    let [start, end, busy] = [Infinity, -Infinity, 0];
    for (const i of this.barsOf.get(item) ?? []) {
      const bar = this.bar(this.bars, i);
      start = Math.min(start, bar.start);
      end = Math.max(end, bar.end);
      busy += bar.end - bar.start;
    }
    return start <= end ? { start, end, busy } : null;
  }
}

// What is chosen and pointed at, for all views; each is told when it changes.
export class Selection {
  constructor() {
    this.listeners = [];
    this.item = -1;
    this.hover = -1;
    this.found = new Set();
  }

  listen(listener) {
    this.listeners.push(listener);
  }

  set(change, source) {
    const changed = Object.keys(change).some((key) => this[key] !== change[key]);
    Object.assign(this, change);
    if (changed) for (const listener of this.listeners) listener(source);
  }
}
