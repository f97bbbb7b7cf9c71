// The page of `dopp report` as a reader meets it: node page_test.mjs DOPP [FOLDER]. With a folder,
// pictures of what was seen are left there.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const command = resolve(process.argv[2]);
const pictures = process.argv[3];
const folder = mkdtempSync(join(tmpdir(), 'doppler-page-'));
const path = (name) => join(folder, name);
const dopp = (...words) => execFileSync(command, words, { cwd: folder, encoding: 'utf8' });

// A graph of five nodes, one of which tries to end the script that holds the data.
const EVIL = '</script><script>document.title="broken"</script>';
function smallGraph() {
  const names = ['load', 'left', EVIL, 'join', 'store'];
  writeFileSync(path('small.json'), JSON.stringify({
    format: 'doppler.graph', version: 1, time_unit: 'tick',
    tensors: ['a', 'b', 'c', 'd'].map((name) => ({ name, transfer_time: 1, bytes: 1000 })),
    nodes: [
      { name: names[0], time: 1, inputs: [], outputs: ['a'] },
      { name: names[1], time: 3, inputs: ['a'], outputs: ['b'] },
      { name: names[2], time: 3, inputs: ['a'], outputs: ['c'] },
      { name: names[3], time: 1, inputs: ['b', 'c'], outputs: ['d'] },
      { name: names[4], time: 1, inputs: ['d'], outputs: [] },
    ],
  }));
  dopp('place', 'small.json', '--devices', 'uniform:2', '--method', 'heft', '-o', 'small.place.json');
  dopp('report', 'small.place.json', '-o', 'small.html');
}

function workload(nodes, devices, name) {
  dopp('graph', 'generate', 'random', '--family', 'layered', '--nodes', String(nodes), '--seed', '3', '-o', `${name}.json`);
  dopp('place', `${name}.json`, '--devices', devices, '--method', 'heft', '-o', `${name}.heft.json`);
}

class Reader {
  constructor(page) {
    this.page = page;
    this.complaints = [];
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) this.complaints.push(message.text());
    });
    page.on('pageerror', (error) => this.complaints.push(String(error)));
    page.on('request', (request) => {
      if (!/^(file|data|blob):/.test(request.url())) this.complaints.push(`asked for ${request.url()}`);
    });
  }

  async open(file) {
    await this.page.goto(pathToFileURL(path(file)).href);
    await this.page.waitForFunction(() => window.doppler?.part?.graphView.surface.width > 0 ||
      (window.doppler && !window.doppler.part));
    await this.settle();
  }

  // Two frames: what was asked for is drawn.
  settle() {
    return this.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }

  // Where a view draws an item, on the screen, after it was scrolled there.
  async spot(view, item) {
    await this.page.evaluate((name) => window.doppler.part[name].root.scrollIntoView({ block: 'center' }), view);
    await this.settle();
    return this.page.evaluate(([name, index]) => {
      const shown = window.doppler.part[name];
      const box = shown.canvas.getBoundingClientRect();
      const at = shown.screenOf(index);
      return { x: box.left + at.x, y: box.top + at.y };
    }, [view, item]);
  }

  async click(view, item) {
    const { x, y } = await this.spot(view, item);
    await this.page.mouse.click(x, y);
    await this.settle();
  }

  selected() {
    return this.page.evaluate(() => window.doppler.part.selection.item);
  }

  names() {
    return this.page.evaluate(() => window.doppler.data.graphs[0].names);
  }

  // The colour of the frame around a chosen bar or box must be on the canvas near the item.
  framed(view, item) {
    return this.page.evaluate(([name, index]) => {
      const shown = window.doppler.part[name];
      const at = shown.screenOf(index);
      const ratio = devicePixelRatio;
      const ink = getComputedStyle(document.documentElement).getPropertyValue('--ink').trim();
      const wanted = [1, 3, 5].map((i) => parseInt(ink.slice(i, i + 2), 16));
      const [w, h] = [260, 60];
      const pixels = shown.surface.context.getImageData((at.x - w / 2) * ratio, (at.y - h / 2) * ratio, w * ratio, h * ratio).data;
      for (let i = 0; i < pixels.length; i += 4) {
        if (wanted.every((value, channel) => Math.abs(pixels[i + channel] - value) < 12)) return true;
      }
      return false;
    }, [view, item]);
  }

  async picture(name, options = {}) {
    if (!pictures) return;
    await this.page.evaluate(() => scrollTo(0, 0));
    await this.page.mouse.move(2, 2);
    await this.settle();
    await this.page.screenshot({ path: join(pictures, `${name}.png`), ...options });
  }

  quiet(what) {
    assert.deepEqual(this.complaints, [], `${what}: the console and the network stay quiet`);
  }
}

const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});

async function withReader(settings, body) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...settings });
  const reader = new Reader(await context.newPage());
  try {
    await body(reader);
  } finally {
    await context.close();
  }
}

const tests = {
  async 'five nodes: links between graph and timeline, names are text'() {
    smallGraph();
    await withReader({}, async (reader) => {
      await reader.open('small.html');
      assert.equal(await reader.page.title(), 'small.json on uniform:2 – Doppler report');
      const names = await reader.names();
      assert.equal(names.length, 5);
      assert.ok(names.includes(EVIL));

      const join = names.indexOf('join');
      const spot = await reader.spot('graphView', join);
      await reader.page.mouse.move(spot.x, spot.y);
      await reader.settle();
      assert.match(await reader.page.locator('#tip').innerText(), /^join\n/, 'hovering names the node');

      await reader.click('graphView', join);
      assert.equal(await reader.selected(), join);
      assert.match(await reader.page.locator('.details').innerText(), /join/);
      await reader.page.mouse.move(2, 2);
      await reader.settle();
      assert.ok(await reader.framed('gantt', join), 'the bar of the chosen node is framed');

      const left = names.indexOf('left');
      await reader.click('gantt', left);
      assert.equal(await reader.selected(), left, 'a bar chooses its node');
      assert.ok(await reader.framed('graphView', left), 'the node of the chosen bar is framed');

      await reader.page.getByLabel('Search by name').fill('sto');
      await reader.page.keyboard.press('Enter');
      assert.equal(await reader.selected(), names.indexOf('store'), 'search finds by name');
      await reader.page.getByLabel('Search by name').fill('nothing of this name');
      assert.match(await reader.page.locator('.found').innerText(), /No name holds this/);
      await reader.page.keyboard.press('Escape');
      await reader.picture('five');
      reader.quiet('five nodes');
    });
  },

  async 'five thousand nodes'() {
    workload(5000, '4xA100', 'large');
    dopp('report', 'large.heft.json', '-o', 'large.html');
    assert.ok(statSync(path('large.html')).size < 5e6, 'the page is below 5 MB');
    await withReader({}, async (reader) => {
      await reader.open('large.html');
      const names = await reader.names();
      assert.equal(names.length, 5000);
      const item = 4321;
      await reader.page.getByLabel('Search by name').fill(names[item]);
      await reader.page.keyboard.press('Enter');
      await reader.settle();
      assert.equal(await reader.selected(), item);
      assert.ok(await reader.framed('graphView', item));
      assert.ok(await reader.framed('gantt', item));
      await reader.page.keyboard.press('Escape');
      const device = (at) => reader.page.evaluate((i) => window.doppler.data.placements[0].device[i], at);
      assert.ok((await device(item)) < 4);
      await reader.page.getByRole('button', { name: 'Fit' }).click();
      await reader.picture('five-thousand');
      reader.quiet('five thousand nodes');
    });
  },

  async 'beyond that, groups'() {
    workload(7000, '4xA100', 'huge');
    dopp('report', 'huge.heft.json', '-o', 'huge.html');
    assert.ok(statSync(path('huge.html')).size < 5e6);
    await withReader({}, async (reader) => {
      await reader.open('huge.html');
      const names = await reader.names();
      assert.ok(names.length > 1 && names.length <= 5000);
      await reader.click('graphView', 0);
      assert.equal(await reader.selected(), 0);
      assert.ok(await reader.framed('gantt', 0));
      await reader.picture('groups');
      reader.quiet('groups');
    });
  },

  async 'groups are layers where the graph says which'() {
    const tensor = (i) => `t${i}`;
    const count = 6000;
    writeFileSync(path('model.json'), JSON.stringify({
      format: 'doppler.graph', version: 1,
      tensors: Array.from({ length: count }, (_, i) => ({ name: tensor(i), transfer_time: 1e-4, bytes: 1000 })),
      nodes: Array.from({ length: count }, (_, i) => ({
        name: `op.${i}`, scope: `model/layers.${Math.floor(i / 60)}`, time: 1e-3,
        inputs: i > 0 ? [tensor(i - 1)] : [], outputs: [tensor(i)],
      })),
    }));
    dopp('place', 'model.json', '--devices', 'uniform:2', '--method', 'heft', '-o', 'model.heft.json');
    dopp('report', 'model.heft.json', '-o', 'model.html');
    await withReader({}, async (reader) => {
      await reader.open('model.html');
      const names = await reader.names();
      assert.deepEqual(names, Array.from({ length: 100 }, (_, i) => `model/layers.${i}`));
      await reader.page.getByText('6,000 nodes, drawn as 100 groups by layer').waitFor();
      await reader.picture('layers');
      reader.quiet('layers');
    });
  },

  async 'dark, several placements, paper, a telephone'() {
    dopp('graph', 'generate', 'llama-layer', '--devices', '4xA100', '-o', 'llama.json');
    dopp('place', 'llama.json', '--devices', '4xA100', '--method', 'heft', '-o', 'heft.json');
    dopp('place', 'llama.json', '--devices', '4xA100', '--method', 'auto', '--evaluations', '3000', '-o', 'auto.json');
    dopp('place', 'llama.json', '--devices', '12xT4', '--method', 'heft', '-o', 'twelve.json');
    dopp('report', 'heft.json', 'auto.json', 'twelve.json', '-o', 'llama.html');
    const theme = (reader) => reader.page.evaluate(() => document.documentElement.dataset.theme);
    await withReader({ colorScheme: 'dark' }, async (reader) => {
      await reader.open('llama.html');
      assert.equal(await theme(reader), 'dark', 'the system asks for dark');
      await reader.picture('dark', { fullPage: true });
      await reader.page.getByRole('button', { name: 'Light' }).click();
      assert.equal(await theme(reader), 'light', 'and the reader for light');
      reader.quiet('dark');
    });
    await withReader({}, async (reader) => {
      await reader.open('llama.html');
      assert.equal(await theme(reader), 'light');
      assert.equal(await reader.page.locator('tr.pick').count(), 3, 'a row for each placement');
      await reader.page.locator('tr.pick').nth(1).click();
      assert.equal(await reader.page.getByLabel('Placement', { exact: true }).inputValue(), '1');
      await reader.settle();
      await reader.picture('light', { fullPage: true });
      await reader.page.locator('tr.pick').nth(2).click();
      await reader.settle();
      await reader.picture('twelve', { fullPage: true });
      await reader.page.locator('tr.pick').nth(1).click();
      const pdf = await reader.page.pdf({ path: pictures ? join(pictures, 'paper.pdf') : undefined, preferCSSPageSize: true });
      assert.ok(pdf.length > 20000);
      reader.quiet('several placements');
    });
    await withReader({ viewport: { width: 420, height: 860 } }, async (reader) => {
      await reader.open('llama.html');
      const wide = await reader.page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 420, `nothing sticks out on a small screen (${wide})`);
      await reader.picture('small-screen');
      reader.quiet('small screen');
    });
  },

  async 'training curves'() {
    dopp('graph', 'generate', 'random', '--family', 'cholesky', '--nodes', '40', '-o', 'c.json');
    dopp('train', 'c.json', '--devices', 'uniform:3', '--stages', 'imitation,sim', '--imitation-episodes', '200',
      '--episodes', '600', '--seeds', '2', '-o', 'run');
    dopp('report', 'run', '-o', 'run.html');
    await withReader({}, async (reader) => {
      await reader.open('run.html');
      assert.match(await reader.page.locator('h1').innerText(), /Training run/);
      const stages = await reader.page.evaluate(() => window.doppler.data.trainings[0].stages.map((stage) => stage.name));
      assert.deepEqual(stages, ['imitation', 'sim']);
      assert.equal(await reader.page.evaluate(() => window.doppler.data.trainings[0].curves.length), 2);
      await reader.picture('training');
      reader.quiet('training');
    });
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
    console.log(`passed  ${name}`);
  } catch (error) {
    ++failed;
    console.log(`FAILED  ${name}\n${error.stack}`);
  }
}
await browser.close();
rmSync(folder, { recursive: true });
process.exit(failed === 0 ? 0 : 1);
