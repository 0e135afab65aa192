import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { z } from 'zod';
import {
  AccessMode,
  lintTools,
  selectTools,
  ToolMetadataRegistry,
  type StandardSchema,
} from '../../src/index.js';
import { touchesOf } from '../../src/tool/touches.js';
import { folderWith } from '../folder-with.js';
import * as bundled from '../../tools/index.js';

const root = folderWith({ 'src/a.ts': 'export function answer() {\n  return 42;\n}\n' });
const registry = new ToolMetadataRegistry();
const created = bundled.createDefaultTools({
  root,
  allowPrivateNetwork: true,
  now: () => 1_000,
});
registry.registerAll(created);
let server: Server;
let origin: string;

/** A normal call to each readonly tool, with only the required arguments. */
const calls = (): Record<string, object> => ({
  list_directory: {},
  read_file: { path: 'src/a.ts' },
  file_info: { path: 'src/a.ts' },
  find_files: { glob: '**/*.ts' },
  search_text: { query: 'answer' },
  outline_file: { path: 'src/a.ts' },
  count_lines: {},
  git_status: {},
  git_diff: {},
  git_log: {},
  git_show: {},
  git_blame: { path: 'src/a.ts' },
  git_branches: {},
  list_tests: {},
  fetch_url: { url: origin },
  check_url: { url: origin },
  extract_links: { url: origin },
  json_query: { json: '{"a":[1]}', path: 'a[0]' },
  json_format: { json: '{"b":1,"a":2}' },
  csv_query: { csv: 'a,b\n1,2' },
  csv_to_json: { csv: 'a,b\n1,2' },
  text_stats: { text: 'one two' },
  diff_text: { before: 'a', after: 'b' },
  calculate: { expression: '6*7' },
  hash_text: { text: 'x' },
  encode_text: { text: 'x', format: 'base64', direction: 'encode' },
  random_id: {},
  current_time: {},
  add_duration: { date: '2026-01-31' },
  date_difference: { from: '2026-01-01', to: '2026-02-01' },
  note_list: {},
  note_search: { query: 'x' },
  system_info: {},
  disk_usage: {},
  environment_variables: {},
});

/** Returns a digest of every path, kind, and byte below a folder, including `.git`. */
function digestOf(folder: string): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(folder).sort()) {
    const path = join(folder, name);
    hash.update(`${name}\0`);
    hash.update(statSync(path).isDirectory() ? digestOf(path) : readFileSync(path));
  }
  return hash.digest('hex');
}

beforeAll(async () => {
  mkdirSync(join(root, '.tooldex'));
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', ...args], {
      cwd: root,
    });
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '-m', 'First');
  writeFileSync(join(root, 'src/a.ts'), 'export function answer() {\n  return 43;\n}\n');
  server = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end('<a href="/b">b</a>'),
  );
  await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

it('the touches declaration of the bundled tools is present on all tools except those that run programs', () => {
  expect(
    [...registry]
      .filter(({ conflictKeys }) => conflictKeys === undefined)
      .map(({ name }) => name)
      .sort(),
  ).toEqual(['run_program', 'run_shell', 'run_tests']);
});

it('the touches declaration of the bundled tools includes no writes for any readonly tool', () => {
  const parsed = (name: string, input: object) =>
    (registry.require(name).inputSchema as unknown as z.ZodType).parse(input);
  for (const [name, input] of Object.entries({
    ...calls(),
    fetch_url: { url: 'https://example.com' },
    check_url: { url: 'https://example.com' },
    extract_links: { url: 'https://example.com' },
  })) {
    expect(touchesOf(registry.require(name), parsed(name, input)), name).toMatchObject({
      writes: [],
    });
  }
});

it('the bundled tools have the expected categories, access modes, danger levels, and consent requirements', () => {
  const lines = [...registry].map(({ name, category, accessMode, dangerLevel, requiresConsent }) =>
    [name, category, accessMode, dangerLevel, ...(requiresConsent ? ['consent'] : [])].join(' '),
  );
  expect(lines.join('\n')).toMatchInlineSnapshot(`
      "delete_file files write high consent
      edit_file files write medium
      file_info files readonly safe
      find_files files readonly safe
      list_directory files readonly safe
      move_file files write medium
      read_file files readonly safe
      write_file files write medium
      count_lines search readonly safe
      outline_file search readonly safe
      search_text search readonly safe
      git_blame git readonly safe
      git_branches git readonly safe
      git_commit git write medium
      git_diff git readonly safe
      git_log git readonly safe
      git_push git write high
      git_show git readonly safe
      git_status git readonly safe
      git_switch git write medium
      list_tests testing readonly safe
      run_tests testing execute high
      run_program shell execute high
      run_shell shell execute critical consent
      check_url web readonly low
      extract_links web readonly low
      fetch_url web readonly low
      http_request web mixed medium
      csv_query data readonly safe
      csv_to_json data readonly safe
      diff_text data readonly safe
      json_format data readonly safe
      json_query data readonly safe
      text_stats data readonly safe
      calculate compute readonly safe
      encode_text compute readonly safe
      hash_text compute readonly safe
      random_id compute readonly safe
      add_duration time readonly safe
      current_time time readonly safe
      date_difference time readonly safe
      note_add notes write medium
      note_delete notes write high
      note_list notes readonly safe
      note_search notes readonly safe
      system_info system readonly safe
      disk_usage system readonly safe
      environment_variables system readonly low"
    `);
});

it('the bundled tools declare every axis and all descriptive metadata', () => {
  for (const entry of registry) {
    expect([entry.name, entry.inferred]).toEqual([entry.name, []]);
    for (const list of [
      entry.keywords,
      entry.stages,
      entry.taskTypes,
      entry.examples,
      entry.sideEffects,
    ])
      expect([entry.name, list.length > 0]).toEqual([entry.name, true]);
    expect([
      entry.name,
      entry.category !== undefined,
      entry.version !== undefined,
      entry.timeoutMs !== undefined,
    ]).toEqual([entry.name, true, true, true]);
  }
});

it('the bundled tools include a tool of every exported tool class', () => {
  const classes = Object.values(bundled).filter(
    (value) => typeof value === 'function' && 'execute' in ((value.prototype ?? {}) as object),
  );
  const missing = new Set<unknown>(classes);
  for (const { constructor } of created) missing.delete(constructor);
  expect([classes.length, ...missing]).toEqual([created.length]);
});

it('the bundled tools have no lint findings', () => expect(lintTools(registry)).toEqual([]));

it.each(['What is 15% of 240?', 'what percent of 80 is 20'])(
  'the bundled tools have calculate as the first match for %j',
  (text) => {
    expect(registry.getToolsMatchingTextScored(text)[0]?.toolName).toBe('calculate');
    expect(registry.search(text, { limit: 3 }).map(({ toolName }) => toolName)).toContain(
      'calculate',
    );
  },
);

it('the bundled tools are among the first three matches for most of their own examples', () => {
  const examples = [...registry].flatMap(({ name, examples: own }) =>
    own.map((text) => ({ name, text })),
  );
  const found = examples.filter(({ name, text }) =>
    registry.search(text, { limit: 3 }).some(({ toolName }) => toolName === name),
  );
  expect(found.length / examples.length).toBeGreaterThan(0.9);
});

it.each(['find out why the parser test fails and fix it', 'fix the failing test'])(
  'the bundled tools include the tools for reading, searching, testing, and editing in the selection for %j',
  (text) => {
    const names = selectTools(registry, { text, maxTools: 4, tokenBudget: 800 }).tools.map(
      ({ toolName }) => toolName,
    );
    expect(names).toEqual(
      expect.arrayContaining(['read_file', 'search_text', 'run_tests', 'edit_file']),
    );
  },
);

it("the bundled tools have a sample call in this test if they're readonly", () => {
  expect(Object.keys(calls()).sort()).toEqual(
    registry
      .getByAccessMode(AccessMode.READONLY)
      .map(({ name }) => name)
      .sort(),
  );
});

it.each(registry.getByAccessMode(AccessMode.READONLY).map(({ name }) => name))(
  "the bundled tools include %s, which is readonly and doesn't change a byte below the root",
  async (name) => {
    const { definition, inputSchema } = registry.require(name);
    const parsed = await (inputSchema as StandardSchema)['~standard'].validate(calls()[name]);
    expect(parsed.issues).toBeUndefined();
    const before = digestOf(root);
    const result = await definition.execute!((parsed as { value: unknown }).value, {});
    expect(result).toBeDefined();
    expect((result as { status?: string }).status).not.toBe('error');
    expect(digestOf(root)).toBe(before);
  },
);
