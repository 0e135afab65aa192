import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import type { auditTools as AuditTools } from '../../../src/audit.js';
import type { ToolMetadataRegistry, ToolSource } from '../../../src/index.js';
import type { Mutant } from './mutants.js';

const ROOT = resolve(import.meta.dirname, '../../..');
const WORK = join(ROOT, '.cache/mutants-run');
/** The folder of which each tool gets a copy. */
const SCRATCH = join(WORK, 'root');
const PACKAGE = join(ROOT, 'dist/index.js');

/**
 * Arguments that make each tool do something in the folder below. Tools that aren't listed take no
 * arguments.
 */
const INPUTS: Readonly<Record<string, object>> = {
  write_file: { path: 'new.txt', content: 'x' },
  edit_file: { path: 'a.txt', find: 'one', replace: 'uno' },
  delete_file: { path: 'a.txt' },
  move_file: { from: 'a.txt', to: 'b.txt' },
  read_file: { path: 'a.txt' },
  file_info: { path: 'a.txt' },
  outline_file: { path: 'src/code.js' },
  search_text: { query: 'one' },
  find_files: { glob: '*' },
  note_add: { text: 'x' },
  note_delete: { id: 'note-1' },
  note_search: { query: 'x' },
  run_program: { program: 'node', arguments: ['-e', "require('node:fs').writeFileSync('x', '')"] },
  run_shell: { command: 'touch x' },
  http_request: { url: 'https://example.com/x', method: 'POST', body: 'x' },
  fetch_url: { url: 'https://example.com/' },
  check_url: { url: 'https://example.com/' },
  extract_links: { url: 'https://example.com/' },
  calculate: { expression: '1+1' },
  hash_text: { text: 'a' },
  encode_text: { text: 'a', format: 'base64', direction: 'encode' },
  text_stats: { text: 'a' },
  csv_query: { csv: 'a,b\n1,2\n' },
  csv_to_json: { csv: 'a,b\n1,2\n' },
  diff_text: { before: 'a', after: 'b' },
  json_format: { json: '{}', style: 'pretty' },
  json_query: { json: '{"a":1}', path: '$.a' },
  add_duration: { date: '2026-01-01', days: 1 },
  date_difference: { from: '2026-01-01', to: '2026-01-02' },
  git_blame: { path: 'a.txt' },
  git_commit: { message: 'm' },
  git_push: { remote: 'origin', branch: 'main' },
  git_switch: { branch: 'x', create: true },
};

/** The result of running one mutant. `cannot` is the reason if the mutant's effect wasn't reached. */
export type RunVerdict =
  | { readonly title: string; readonly found: boolean }
  | { readonly title: string; readonly cannot: string };

/** Runs the tools in files as `tooldex audit --run` does, from the built package. */
export class MutantRuns {
  readonly #auditTools: typeof AuditTools;

  private constructor(auditTools: typeof AuditTools) {
    this.#auditTools = auditTools;
  }

  /** @returns undefined if the package isn't built, because child processes load the built files. */
  static async open(): Promise<MutantRuns | undefined> {
    if (!existsSync(PACKAGE)) return undefined;
    rmSync(WORK, { recursive: true, force: true });
    for (const folder of ['src', '.tooldex']) mkdirSync(join(SCRATCH, folder), { recursive: true });
    writeFileSync(join(SCRATCH, 'a.txt'), 'one\ntwo\n');
    writeFileSync(join(SCRATCH, 'src/code.js'), 'export function one() {}\n');
    writeFileSync(join(SCRATCH, 'src/code.test.js'), '');
    writeFileSync(
      join(SCRATCH, 'package.json'),
      '{"name":"project","scripts":{"test":"node --test"}}',
    );
    writeFileSync(
      join(SCRATCH, '.tooldex/notes.json'),
      '{"version":1,"nextId":2,"notes":[{"id":"note-1","text":"x","tags":[],"created":"2026-01-01T00:00:00.000Z"}]}\n',
    );
    const git = (...args: string[]) => {
      const { status, stderr } = spawnSync(
        'git',
        ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args],
        { cwd: SCRATCH, encoding: 'utf8' },
      );
      if (status !== 0)
        throw new Error(`Expected git ${args.join(' ')} to succeed, got ${stderr.trim()}.`);
    };
    git('init', '--quiet', '--initial-branch', 'main');
    git('config', 'user.name', 'a');
    git('config', 'user.email', 'a@example.com');
    git('add', '.');
    git('commit', '--quiet', '--message', 'One');
    git('init', '--quiet', '--bare', 'remote.git');
    git('remote', 'add', 'origin', './remote.git');
    writeFileSync(join(SCRATCH, 'a.txt'), 'one\ntwo\nthree\n');
    return new MutantRuns(
      (
        (await import(pathToFileURL(join(ROOT, 'dist/audit.js')).href)) as {
          readonly auditTools: typeof AuditTools;
        }
      ).auditTools,
    );
  }

  /**
   * Runs the tool in a file unchanged, and then its mutants. @param folder The folder that the file's
   * imports are relative to.
   */
  async run(
    folder: string,
    original: string,
    mutants: readonly Mutant[],
  ): Promise<{ readonly original: string; readonly mutants: readonly RunVerdict[] }> {
    const tool = /\n {2}name: '([a-z_]+)'/.exec(original)![1]!;
    const sources = [original, ...mutants.map(({ source }) => source)];
    // Unique file names, so every mutant is loaded once.
    const files = sources.map((source, index) => ({
      file: join(folder, `run-mutant-${index}.ts`),
      source: source.replace(`name: '${tool}'`, `name: '${tool}.${index}'`),
    }));
    for (const { file, source } of files) writeFileSync(file, source);
    const bundle = join(SCRATCH, `${tool}.mjs`);
    try {
      await build({
        stdin: {
          contents: files
            .map(
              ({ source }, index) =>
                `export { ${/export class (\w+)/.exec(source)![1]} as Mutant${index} } from './run-mutant-${index}.js';`,
            )
            .join('\n'),
          resolveDir: folder,
        },
        bundle: true,
        format: 'esm',
        platform: 'node',
        target: 'node20',
        mainFields: ['module', 'main'],
        outfile: bundle,
        logLevel: 'error',
        tsconfigRaw: { compilerOptions: { target: 'es2022' } },
        plugins: [
          {
            name: 'built',
            setup: (bundling) => {
              bundling.onResolve({ filter: /src\/index\.js$/ }, () => ({
                path: PACKAGE,
                external: true,
              }));
              bundling.onResolve({ filter: /^(zod|re2)$/ }, ({ path }) => ({
                path: import.meta.resolve(path),
                external: true,
              }));
            },
          },
        ],
      });
      const { ToolMetadataRegistry: Built } = (await import(pathToFileURL(PACKAGE).href)) as {
        readonly ToolMetadataRegistry: typeof ToolMetadataRegistry;
      };
      const registry = new Built();
      const unregistered = new Map<string, string>();
      for (const [index, source] of Object.values(
        (await import(pathToFileURL(bundle).href)) as Record<string, ToolSource>,
      ).entries()) {
        try {
          registry.register(source);
        } catch (error) {
          unregistered.set(
            `${tool}.${index}`,
            error instanceof Error ? error.message : String(error),
          );
        }
      }
      const inputs = Object.fromEntries(
        files.map((_, index) => [`${tool}.${index}`, [INPUTS[tool] ?? {}]]),
      );
      const { tools, ran } = await this.#auditTools(registry, {
        root: SCRATCH,
        entries: [],
        run: { files: [`${tool}.mjs`], unsafe: true, inputs, timeoutMs: 10_000 },
      });
      const honest = ran?.tools.find(({ name }) => name === `${tool}.0`);
      // If the unchanged tool fails here, its mutants can't reach their effect either.
      const failed =
        honest?.status === 'ok'
          ? undefined
          : `${tool} itself ends with ${honest?.status ?? 'nothing'}: ${honest?.message ?? ran?.skipped.find(({ name }) => name === `${tool}.0`)?.reason ?? ''}`;
      const verdictOf = (index: number) =>
        tools.find(({ name }) => name === `${tool}.${index}`)?.verdict;
      return {
        original: verdictOf(0) ?? 'missing',
        mutants: mutants.map(({ title }, index): RunVerdict => {
          const name = `${tool}.${index + 1}`;
          const seen = ran?.tools.find((each) => each.name === name);
          const reason =
            unregistered.get(name) ??
            ran?.skipped.find((each) => each.name === name)?.reason ??
            (seen === undefined ? 'not run' : failed);
          return reason === undefined
            ? { title, found: verdictOf(index + 1) === 'lies' }
            : { title, cannot: reason };
        }),
      };
    } finally {
      rmSync(bundle, { force: true });
      for (const { file } of files) rmSync(file, { force: true });
    }
  }
}
