// Builds doppler/render/page/page.html, the template of `dopp report`, out of src/. With --check it only
// says whether the committed file is what the sources give, and fails where it is not.
import { build } from 'esbuild';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const target = here('../../doppler/render/page/page.html');

// Licences of bundled packages, if any, stay in the file as comments.
async function bundle(entry) {
  const result = await build({
    entryPoints: [here(entry)],
    bundle: true,
    minify: true,
    format: 'iife',
    target: ['chrome100', 'firefox100', 'safari15'],
    legalComments: 'inline',
    write: false,
  });
  return result.outputFiles[0].text.trim();
}

// What would end the element early.
function checked(text, element) {
  if (text.includes(`</${element}`)) throw new Error(`the ${element} holds </${element}`);
  return text;
}

const parts = {
  STYLE: checked(await bundle('src/page.css'), 'style'),
  SCRIPT: checked(await bundle('src/main.js'), 'script'),
};
const page = (await readFile(here('src/page.html'), 'utf8')).replace(
  /\/\*(STYLE|SCRIPT)\*\//g, (_, name) => parts[name]);
// The delimiter of the string that the library holds the page in.
if (page.includes(')page"')) throw new Error('the page holds )page"');

if (process.argv.includes('--check')) {
  const committed = await readFile(target, 'utf8').catch(() => '');
  if (committed !== page) {
    console.error('doppler/render/page/page.html is not what tools/report-page gives: run ' +
                  'npm run build there and commit the result');
    process.exit(1);
  }
  console.log('doppler/render/page/page.html is what tools/report-page gives');
} else {
  await writeFile(target, page);
  console.log(`wrote doppler/render/page/page.html, ${page.length} characters`);
}
