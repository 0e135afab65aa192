import { Session, type Profiler } from 'node:inspector';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { chat, scriptedModel } from '../../src/chat.js';
import { AccessMode, defineTool, ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';

// Prints which files and functions of the project one call enters, by V8's precise coverage: `npm run
// bench:entered`. `--functions` also prints the functions' names.

const root = resolve(import.meta.dirname, '../..');
const inspector = new Session();
inspector.connect();

function take(): readonly Profiler.ScriptCoverage[] {
  let scripts: readonly Profiler.ScriptCoverage[] = [];
  // A connection in the same process answers at once.
  inspector.post('Profiler.takePreciseCoverage', (error, taken) => {
    if (error !== null) throw error;
    scripts = taken.result;
  });
  return scripts;
}

/** Returns the functions that ran, by file. Code that runs when a file is loaded isn't included. */
async function enteredBy(run: () => unknown): Promise<ReadonlyMap<string, readonly string[]>> {
  take(); // This call resets the counts.
  await run();
  const entered = new Map<string, readonly string[]>();
  for (const { url, functions } of take()) {
    const file = url.startsWith('file:') ? relative(root, fileURLToPath(url)) : '';
    if (!/^(?:src|tools)\//.test(file)) continue;
    const ran = functions.filter(
      ({ functionName, ranges: [range] }) =>
        range!.count > 0 && range!.startOffset > 0 && functionName !== '__name',
    );
    const names = ran.map(({ functionName }) => functionName || '(anonymous)');
    if (names.length > 0) entered.set(file, names);
  }
  return entered;
}

function print(title: string, entered: ReadonlyMap<string, readonly string[]>): void {
  const functions = [...entered.values()].flat().length;
  console.log(`\n${title}: ${entered.size} files, ${functions} functions`);
  for (const [file, names] of [...entered].sort(([a], [b]) => (a < b ? -1 : 1))) {
    console.log(
      `  ${file} ${names.length}${process.argv.includes('--functions') ? `: ${names.join(', ')}` : ''}`,
    );
  }
}

const registry = new ToolMetadataRegistry();
registry.registerAll(
  ['read_note', 'count_words', 'list_notes'].map((name) =>
    defineTool({
      name,
      description: `Does what ${name} says`,
      keywords: [name],
      inputSchema: z.object({ text: z.string() }),
      accessMode: AccessMode.READONLY,
      execute: ({ text }) => text.length,
    }),
  ),
);
const executor = new ToolExecutor({ registry });
const search = () => registry.search('count the words', { limit: 2 });
const execute = () =>
  executor.execute({ id: '1', name: 'count_words', input: { text: 'two words' } });
const talk = () =>
  chat({
    model: scriptedModel([
      { calls: [{ name: 'count_words', input: { text: 'two words' } }] },
      'There are two.',
    ]),
    executor,
    prompt: 'How many words?',
  });

inspector.post('Profiler.enable');
inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
for (const [what, run] of [
  ['registry.search', search],
  ['executor.execute of a local tool', execute],
  ['chat with one call', talk],
] as const) {
  for (const time of ['first time', 'second time']) {
    print(`${what}, ${time}`, await enteredBy(run));
  }
}
inspector.disconnect();
