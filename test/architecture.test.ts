import { globSync } from 'tinyglobby';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import CEILINGS from './ceilings.json' with { type: 'json' };
import { SURFACE } from './package/surface.js';
import { functionsIn, tokensOf } from './tokens.js';

const root = resolve(import.meta.dirname, '..');

/** Files may import only from lower layers. Two folders in the same layer never import each other. */
const FLOORS: readonly (readonly string[])[] = [
  ['src/core'],
  ['src/json-schema'],
  ['src/tool', 'src/state', 'src/host'],
  ['src/search', 'src/providers'],
  ['src/registry'],
  ['src/selection', 'src/safety'],
  ['src/execution', 'src/capability', 'src/interop', 'src/load', 'src/openapi'],
  ['src/mcp', 'src/chat', 'src/http', 'src/nestjs', 'src/testing', 'tools'],
  ['src/audit'],
  ['src/cli'],
];
/** The rings of folders in `src`. Each ring has a token limit for the sum of its folders. */
const RINGS: Readonly<Record<string, readonly string[]>> = {
  core: [
    'core',
    'json-schema',
    'tool',
    'registry',
    'search',
    'selection',
    'safety',
    'execution',
    'state',
    'providers',
    'host',
  ],
  bridges: ['mcp', 'interop', 'openapi', 'load', 'nestjs', 'chat'],
  operation: ['capability', 'http', 'cli', 'testing'],
  audit: ['audit'],
};

/** The rings that the files of each ring may import. Only the command line imports the audit. */
const INNER_RINGS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  bridges: ['core'],
  operation: ['core', 'bridges'],
  audit: ['core', 'bridges'],
};

const files = globSync(['src/**/*.ts', 'tools/**/*.ts'], { cwd: root }).sort();
const sources = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
const folders = FLOORS.flat();

function folderOf(file: string): string | undefined {
  return folders.find((folder) => file.startsWith(`${folder}/`));
}

function floorOf(file: string): number {
  return FLOORS.findIndex((floor) => floor.includes(folderOf(file)!));
}

/**
 * Returns the part of the code whose token limit includes the file: a folder of `src`, the entry points
 * together, `tools`, or `test`.
 */
function roomOf(path: string): string {
  const [top, folder, file] = path.split('/');
  if (top !== 'src') return top!;
  return file === undefined ? 'src (entries)' : `src/${folder}`;
}

/** Returns the ring of a file, or `undefined` for entry points, bundled tools and tests. */
function ringOf(file: string): string | undefined {
  const [top, folder, ...rest] = file.split('/');
  if (top !== 'src' || rest.length === 0) return undefined;
  return Object.keys(RINGS).find((ring) => RINGS[ring]!.includes(folder!));
}

function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** Returns the files that a file imports, statically or dynamically, including entry files. */
function importsOf(file: string): string[] {
  const specifiers = [...sources.get(file)!.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map(
    ([, specifier]) => specifier!,
  );
  return specifiers
    .filter((specifier) => specifier.endsWith('.js'))
    .map((specifier) => normalize(join(dirname(file), specifier.replace(/\.js$/, '.ts'))));
}

/**
 * Returns true for the package's entry points, such as `src/index.ts` and `src/state.ts`. An entry point
 * may import from every layer.
 */
function isEntry(file: string): boolean {
  return /^src\/[^/]+\.ts$/.test(file);
}

describe('the architecture', () => {
  it('assigns every source file to a layer', () => {
    expect(files.filter((file) => !isEntry(file) && folderOf(file) === undefined)).toEqual([]);
  });

  it("has imports only from lower layers, and the bundled tools import only the package's entry files", () => {
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter((imported) => {
          if (isEntry(file)) return !sources.has(imported);
          if (isEntry(imported)) return folderOf(file) !== 'tools';
          if (folderOf(file) === 'tools' && folderOf(imported) !== 'tools') return true;
          return folderOf(file) !== folderOf(imported) && floorOf(imported) >= floorOf(file);
        })
        .map((imported) => `${file} → ${imported}`),
    );
    expect(wrong).toEqual([]);
  });

  it('assigns every folder of the source to exactly one ring', () => {
    expect(
      files.filter((file) => file.startsWith('src/') && !isEntry(file) && !ringOf(file)),
    ).toEqual([]);
    const inRings = Object.values(RINGS).flat();
    expect(new Set(inRings).size).toBe(inRings.length);
    expect(inRings.filter((folder) => !folders.includes(`src/${folder}`))).toEqual([]);
  });

  it('has imports only from the same ring and from inner rings, and only the command line imports the audit', () => {
    const outward = files.flatMap((file) =>
      importsOf(file)
        .filter((imported) => {
          const [from, to] = [ringOf(file), ringOf(imported)];
          if (from === undefined || to === undefined || from === to) return false;
          if (to === 'audit') return folderOf(file) !== 'src/cli';
          return !INNER_RINGS[from]!.includes(to);
        })
        .map((imported) => `${file} → ${imported}`),
    );
    expect(outward).toEqual([]);
  });

  it('keeps every ring below its token limit, and prints the token counts', () => {
    const ceilings: Readonly<Record<string, number>> = CEILINGS.rings;
    const rings = new Map(Object.keys(RINGS).map((ring) => [ring, 0]));
    for (const [file, text] of sources) {
      const ring = ringOf(file);
      if (ring !== undefined) rings.set(ring, rings.get(ring)! + tokensOf(text, file));
    }
    const table = [...rings].map(([ring, tokens]) => `${ring} ${tokens} of ${ceilings[ring]}`);
    process.stdout.write(`Tokens of the rings: ${table.join(', ')}\n`);
    expect([...rings].filter(([ring, tokens]) => !(tokens <= ceilings[ring]!))).toEqual([]);
  });

  it("limits the size of functions, and of each ring's functions and their inner functions", () => {
    const sizes = Object.keys(RINGS).map((ring) => {
      const functions = [...sources]
        .filter(([file]) => ringOf(file) === ring)
        .flatMap(([file, text]) => functionsIn(text, file));
      const tokens = functions.map((each) => each.tokens).sort((a, b) => a - b);
      const outsidePage = functions.filter(({ name }) => !name.startsWith('src/http/page/'));
      const inner = outsidePage.reduce((sum, each) => sum + each.inner, 0) / outsidePage.length;
      return {
        ring,
        longest: functions.filter((each) => each.tokens > 600).map(({ name }) => name),
        isShort: tokens[Math.floor(tokens.length * 0.9)]! <= (ring === 'core' ? 200 : 240),
        isFlat: inner <= (ring === 'core' ? 0.7 : 0.85),
      };
    });
    expect(sizes).toEqual(
      Object.keys(RINGS).map((ring) => ({ ring, longest: [], isShort: true, isFlat: true })),
    );
  });

  it('has no import cycles between files', () => {
    const done = new Set<string>();
    const cycleFrom = (file: string, path: readonly string[]): readonly string[] | undefined => {
      if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
      if (done.has(file)) return undefined;
      for (const imported of importsOf(file)) {
        const cycle = cycleFrom(imported, [...path, file]);
        if (cycle !== undefined) return cycle;
      }
      done.add(file);
      return undefined;
    };
    expect(
      files.map((file) => cycleFrom(file, [])).find((cycle) => cycle !== undefined),
    ).toBeUndefined();
  });

  it('has no import cycles between folders', () => {
    const imports = new Map<string, Set<string>>();
    for (const file of files)
      for (const imported of importsOf(file))
        if (sources.has(imported) && !isEntry(file))
          imports.set(
            dirname(file),
            (imports.get(dirname(file)) ?? new Set()).add(dirname(imported)),
          );
    const reached = (from: string, seen = new Set<string>()): ReadonlySet<string> => {
      for (const next of imports.get(from) ?? [])
        if (next !== from && !seen.has(next)) reached(next, seen.add(next));
      return seen;
    };
    expect([...imports.keys()].filter((folder) => reached(folder).has(folder))).toEqual([]);
  });

  it('limits every file to 600 lines, except for a list of longer files with their own limits', () => {
    const ceilings: Readonly<Record<string, number>> = CEILINGS.longFiles;
    const lines = (file: string) => sources.get(file)!.split('\n').length - 1;
    expect(files.filter((file) => lines(file) > (ceilings[file] ?? 600))).toEqual([]);
    expect(
      Object.keys(ceilings).filter((file) => !sources.has(file) || lines(file) <= 600),
    ).toEqual([]);
  });

  it('exports only names that another file or a test uses', () => {
    const read = new Set<string>();
    const others = globSync('test/**/*.ts', { cwd: root, ignore: '**/node_modules/**' }).map(
      (file) => [file, readFileSync(join(root, file), 'utf8')] as const,
    );
    for (const [file, text] of [...sources, ...others]) {
      for (const [, fixed, from, awaited, dynamic, member = '*'] of text.matchAll(
        /(?:import|export)\s(?:type\s)?([^;'"]*?)\sfrom\s'(\.[^']+)'|(?:(\{[^{}]*\}) = await )?import\('(\.[^']+)'\)(?:\)\.(\w+))?/g,
      )) {
        const imported = normalize(join(dirname(file), (from ?? dynamic)!.replace(/\.js$/, '.ts')));
        const names = fixed ?? awaited ?? member;
        for (const [name] of names.startsWith('*')
          ? [['*']]
          : names.matchAll(/(?<!\bas |: )\b\w+\b/g))
          read.add(`${imported} ${name}`);
      }
    }
    const values = [...sources]
      .filter(([file]) => !isEntry(file) && file !== 'tools/index.ts')
      .flatMap(([file, text]) =>
        [
          ...text.matchAll(
            /^export (?:async |abstract )*(?:const|let|class|function\*?|interface|type) (\w+)/gm,
          ),
        ].map(([, name]) => `${file} ${name!}`),
      );
    expect(
      values.filter((value) => !read.has(value) && !read.has(`${value.split(' ')[0]!} *`)),
    ).toEqual([]);
  });

  it('keeps every part of the code below its token limit, and prints the token counts', () => {
    const ceilings: Readonly<Record<string, number>> = CEILINGS.tokens;
    const rooms = new Map(Object.keys(ceilings).map((room) => [room, 0]));
    for (const path of globSync('{src,tools,test}/**/*.{ts,tsx,js,jsx,mjs,cjs,json}', {
      cwd: root,
      ignore: '**/node_modules/**',
    }))
      if (!path.endsWith('.d.ts') && !(path.startsWith('test/') && !/\.tsx?$/.test(path)))
        rooms.set(roomOf(path), (rooms.get(roomOf(path)) ?? 0) + tokensOf(readText(path), path));
    const table = [...rooms].map(([room, tokens]) => `${room} ${tokens} of ${ceilings[room]}`);
    process.stdout.write(`Tokens: ${table.join(', ')}\n`);
    expect([...rooms].filter(([room, tokens]) => !(tokens <= ceilings[room]!))).toEqual([]);
  });

  it('has at most the allowed number of public names, not counting the bundled tools', () => {
    const entries = Object.entries(SURFACE).filter(([entry]) => entry !== 'tooldex/tools');
    const names = new Set(entries.flatMap(([, { values, types }]) => [...values, ...types]));
    const { values, types } = SURFACE['tooldex']!;
    expect(names.size).toBeLessThanOrEqual(CEILINGS.names.all);
    expect(values.length + types.length).toBeLessThanOrEqual(CEILINGS.names.root);
  });

  it('gives each decision record a unique number that its file name and its title share', () => {
    const names = globSync('docs/decisions/!(README).md', { cwd: root })
      .map((file) => file.replace('docs/decisions/', ''))
      .sort();
    // The number of a removed decision is never used again.
    const numbers = names.map((name) => name.slice(0, 4));
    expect(new Set(numbers).size).toBe(numbers.length);
    for (const name of names)
      expect(
        readFileSync(join(root, 'docs/decisions', name), 'utf8')
          .split(' ', 2)
          .join(' '),
      ).toBe(`# ${Number(name.slice(0, 4))}.`);
  });
});
