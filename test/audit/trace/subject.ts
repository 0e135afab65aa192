import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll } from 'vitest';
import { traceTools, type Trace } from '../../../src/audit/trace/trace-tools.js';

const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** Writes files into a new folder and traces the tools in it. */
export async function trace(
  files: Readonly<Record<string, string>>,
  tools: readonly string[],
): Promise<Trace> {
  const root = mkdtempSync(path.join(tmpdir(), 'trace-'));
  folders.push(root);
  for (const [name, text] of Object.entries({
    'package.json': '{"type":"module","main":"index.js"}',
    ...files,
  })) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  }
  return traceTools({ root, tools: tools.map((name) => ({ name })) });
}

/**
 * Returns the changes of each tool as `call`, with `?` if the change is only possible, and the argument
 * that decides.
 */
export async function changes(
  files: Readonly<Record<string, string>> | string,
  ...tools: readonly string[]
): Promise<Readonly<Record<string, readonly string[] | undefined>>> {
  const traced = await trace(typeof files === 'string' ? { 'index.js': files } : files, tools);
  return Object.fromEntries(
    traced.tools.map(({ name, handler, effects }) => [
      name,
      handler === undefined
        ? undefined
        : effects
            .filter(({ access }) => access !== 'read')
            .map(
              ({ call, certainty, argument, access }) =>
                `${call}${access === 'unknown' ? ' (unknown)' : ''}${certainty === 'does' ? '' : argument === undefined ? ' ?' : ` ?${argument}`}`,
            ),
    ]),
  );
}
