import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Effect, EffectKind } from '../../../src/audit/effect.js';
import { correctionOf, correctionText } from '../../../src/audit/judge/corrections.js';
import {
  factsOfAnnotations,
  factsOfEntry,
  type DeclaredFacts,
} from '../../../src/audit/judge/declared-facts.js';
import { judgeTool } from '../../../src/audit/judge/judge-tool.js';
import { defineTool, ToolMetadataRegistry } from '../../../src/index.js';

const effect = (kind: EffectKind, fields: Partial<Effect> = {}): Effect => ({
  kind,
  access: 'read',
  destructive: null,
  idempotent: null,
  call: `${kind}.call`,
  certainty: 'does',
  at: 'src/store.ts:30',
  via: ['src/tool.ts:5'],
  ...fields,
});
const write = (fields: Partial<Effect> = {}) =>
  effect('fs-write', {
    access: 'write',
    destructive: true,
    idempotent: true,
    call: 'fs.writeFile',
    ...fields,
  });
const reads = effect('fs-read', { call: 'fs.readFile' });
const maybe = { certainty: 'may' } as const;
const traced = (...effects: readonly Effect[]) => ({
  name: 'save',
  handler: 'src/tool.ts:5',
  effects,
  unknowns: [] as readonly string[],
});
const said = (annotations: unknown, ...effects: readonly Effect[]) =>
  judgeTool(factsOfAnnotations(annotations), traced(...effects));
const READER = { readOnlyHint: true };
const WRITER = { readOnlyHint: false };

/** Returns the facts about a tooldex tool with the given metadata. */
function declared(metadata: object): DeclaredFacts {
  const registry = new ToolMetadataRegistry();
  return factsOfEntry(
    registry.register(
      defineTool({
        name: 'save',
        description: 'Saves something',
        inputSchema: z.object({}),
        ...metadata,
        execute: () => 'saved',
      }),
    )[0]!,
  );
}

describe('verdicts on MCP tools', () => {
  it.each([
    ['declared read-only that reads', READER, [reads], 'agrees'],
    ['declared read-only that has no effects', READER, [], 'agrees'],
    ['declared read-only that writes', READER, [reads, write()], 'lies'],
    [
      'declared read-only that writes if an argument asks for it',
      READER,
      [write({ ...maybe, argument: 'filename' })],
      'lies',
    ],
    [
      'declared read-only that may write under an unknown condition',
      READER,
      [write(maybe)],
      'unknown',
    ],
    [
      'declared read-only and closed-world that calls a service',
      { ...READER, openWorldHint: false },
      [effect('net-read')],
      'agrees',
    ],
    ['declared writing that writes', WRITER, [write()], 'agrees'],
    ['declared writing that may write', WRITER, [write(maybe)], 'unknown'],
    ['declared writing that only reads', WRITER, [reads], 'over-cautious'],
    [
      'declared non-destructive that overwrites',
      { ...WRITER, destructiveHint: false },
      [write()],
      'agrees',
    ],
    [
      'declared non-destructive that deletes',
      { ...WRITER, destructiveHint: false },
      [write({ call: 'fs.unlink' })],
      'lies',
    ],
    [
      'declared idempotent that creates something at a service that may recognize repeats',
      { ...WRITER, idempotentHint: true },
      [effect('net-write', { access: 'write', idempotent: false })],
      'agrees',
    ],
    [
      'declared non-destructive that only adds',
      { ...WRITER, destructiveHint: false },
      [write({ destructive: false })],
      'agrees',
    ],
    [
      'declared idempotent that appends',
      { ...WRITER, idempotentHint: true },
      [write({ idempotent: false, call: 'fs.appendFile' })],
      'lies',
    ],
    ['without hints that writes', {}, [write()], 'undeclared'],
    ['without hints that reads', undefined, [reads], 'undeclared'],
    [
      'declared only non-destructive that deletes',
      { destructiveHint: false },
      [write({ call: 'fs.rm' })],
      'lies',
    ],
  ] as const)('an MCP tool %s gets the expected verdict', (_, annotations, effects, verdict) => {
    expect(said(annotations, ...effects).verdict).toBe(verdict);
  });

  it("the verdict is unknown if some code wasn't found or followed, unless a lie is certain", () => {
    expect(judgeTool({ readOnly: true }, { ...traced(), handler: undefined }).verdict).toBe(
      'unknown',
    );
    expect(judgeTool({ readOnly: false }, { ...traced(), handler: undefined }).verdict).toBe(
      'unknown',
    );
    expect(
      judgeTool({ readOnly: true }, { ...traced(reads), unknowns: ['a plugin is loaded by name'] })
        .verdict,
    ).toBe('unknown');
    expect(
      judgeTool(
        { readOnly: true },
        { ...traced(write()), unknowns: ['a plugin is loaded by name'] },
      ).verdict,
    ).toBe('lies');
  });

  it('each call that contradicts a declaration is listed once, with its most certain path, and the most serious call first', () => {
    const { findings } = said(
      READER,
      write({ ...maybe, argument: 'path' }),
      write({ via: ['a:1', 'b:2'] }),
      write({ via: ['a:1'] }),
      write({ call: 'fs.rm', ...maybe, argument: 'all' }),
    );
    expect(
      findings.map(({ kind, axis, message, effect: each }) => [kind, axis, message, each?.via]),
    ).toEqual([
      [
        'lies',
        'readOnlyHint',
        'declares readOnlyHint: true, and changes files (fs.writeFile)',
        ['a:1'],
      ],
      [
        'lies',
        'readOnlyHint',
        'declares readOnlyHint: true, and changes files (fs.rm) where "all" says so',
        ['src/tool.ts:5'],
      ],
    ]);
  });

  it('a finding explains what clients assume if readOnlyHint is missing', () => {
    expect(said({}, reads).findings.map(({ message }) => message)).toEqual([
      'declares no readOnlyHint, so clients assume that the tool writes and destroys; it only reads',
    ]);
    expect(
      said({ destructiveHint: false }, write({ destructive: false })).findings.map(
        ({ message }) => message,
      ),
    ).toEqual([
      'declares no readOnlyHint, so clients assume that the tool writes; it changes files (fs.writeFile)',
    ]);
  });

  it('a tool that declares a closed world but calls a service gets a note', () => {
    expect(
      said({ ...READER, openWorldHint: false }, effect('net-read', { call: 'fetch' })).findings,
    ).toMatchObject([
      {
        kind: 'note',
        axis: 'openWorldHint',
        message: 'declares openWorldHint: false, and reads from a service (fetch)',
      },
    ]);
  });
});

describe('facts derived from effects', () => {
  it.each([
    ['no effects', [], { readOnly: true, destructive: false, idempotent: true, openWorld: false }],
    [
      'a certain write',
      [write()],
      { readOnly: false, destructive: true, idempotent: true, openWorld: false },
    ],
    [
      'a possible write',
      [write(maybe)],
      { readOnly: null, destructive: null, idempotent: null, openWorld: false },
    ],
    [
      'a program',
      [effect('process-spawn')],
      { readOnly: true, destructive: false, idempotent: true, openWorld: null },
    ],
    [
      'a possible request',
      [effect('net-read', maybe)],
      { readOnly: true, destructive: false, idempotent: true, openWorld: null },
    ],
  ] as const)('the facts for %s include only what is certain', (_, effects, found) => {
    expect(said(READER, ...effects).found).toEqual({ ...found, effects });
  });
});

it.each([
  ['readonly and writes', { accessMode: 'readonly' }, [write()], 'lies', ['accessMode']],
  ['without side effects and writes', { sideEffects: 'none' }, [write()], 'lies', ['sideEffects']],
  [
    'readonly without side effects and calls a service',
    { accessMode: 'readonly', sideEffects: 'none' },
    [effect('net-read')],
    'lies',
    ['sideEffects'],
  ],
  [
    'readonly without side effects and runs a program that reads',
    { accessMode: 'readonly', sideEffects: 'none' },
    [effect('process-spawn')],
    'agrees',
    [],
  ],
  [
    'write with the side effect filesystem and sends a request',
    { accessMode: 'write', sideEffects: ['write', 'filesystem'] },
    [write(), effect('net-write', { access: 'write', call: 'POST' })],
    'lies',
    ['sideEffects'],
  ],
  [
    'write with the execution category read_only and writes',
    { accessMode: 'write', executionCategory: 'read_only' },
    [write()],
    'lies',
    ['executionCategory'],
  ],
  [
    'write with low danger and deletes',
    { accessMode: 'write', dangerLevel: 'low' },
    [write({ call: 'fs.rm' })],
    'lies',
    ['dangerLevel'],
  ],
  [
    'write with low danger that input can raise and overwrites',
    { accessMode: 'write', dangerLevel: 'low', dangerFor: () => 'high' },
    [write()],
    'agrees',
    [],
  ],
  [
    'write with an idempotency key and appends',
    { accessMode: 'write', idempotencyKey: true },
    [write({ idempotent: false })],
    'lies',
    ['idempotencyKey'],
  ],
  [
    'write with an idempotency key and sends a POST that may include the key',
    { accessMode: 'write', idempotencyKey: true },
    [effect('net-write', { access: 'write', idempotent: false })],
    'agrees',
    [],
  ],
  ['write and only reads', { accessMode: 'write' }, [reads], 'over-cautious', ['accessMode']],
  [
    'execute and runs a program that reads',
    { accessMode: 'execute' },
    [effect('process-spawn')],
    'agrees',
    [],
  ],
  ['without any metadata and writes', {}, [write()], 'undeclared', ['accessMode']],
] as const)(
  'a tooldex tool gets the expected verdict if it is declared %s',
  (_, metadata, effects, verdict, axes) => {
    const audit = judgeTool(declared(metadata), traced(...effects));
    expect([audit.verdict, audit.findings.map(({ axis }) => axis)]).toEqual([verdict, axes]);
  },
);

describe('corrected declarations', () => {
  const fix = (annotations: object, ...effects: readonly Effect[]) =>
    correctionOf(said(annotations, ...effects));
  const STRICTEST = {
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: false,
    openWorldHint: true,
  };

  it('a tool that lies or declares nothing gets all four hints', () => {
    expect(fix(READER, write())?.after).toEqual(STRICTEST);
    expect(fix({}, write())?.after).toEqual(STRICTEST);
  });

  it('a correction never makes a declaration less strict', () => {
    expect(fix({}, reads)).toBeUndefined();
    expect(fix(WRITER, reads)).toBeUndefined();
    expect(
      correctionOf(judgeTool(declared({ accessMode: 'write' }), traced(reads))),
    ).toBeUndefined();
    expect(correctionOf(judgeTool(declared({}), traced(reads)))).toBeUndefined();
  });

  it('a correction keeps declarations that nothing contradicts and uses the strictest value for unknowns', () => {
    expect(
      fix(
        { destructiveHint: false, openWorldHint: false },
        write({ destructive: null, idempotent: null, kind: 'net-write' }),
      ),
    ).toMatchObject({
      after: {
        readOnlyHint: false,
        destructiveHint: false,
        idempotentHint: false,
        openWorldHint: false,
      },
      unsure: ['destructiveHint', 'idempotentHint'],
    });
    // Clients ignore the other hints of a tool that declares readOnlyHint: true.
    expect(
      fix({ ...READER, destructiveHint: false }, write({ destructive: null }))?.after,
    ).toMatchObject({ destructiveHint: true });
  });

  it('a tool whose verdict is "agrees" or "unknown" gets no correction', () => {
    expect([fix(READER, reads), fix(READER, write(maybe)), fix(WRITER, write())]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('a tooldex tool with the corrected declaration gets the verdict "agrees"', () => {
    for (const [metadata, ...effects] of [
      [
        { accessMode: 'readonly', sideEffects: 'none', cacheTtlMs: 10, dangerLevel: 'safe' },
        write(),
      ],
      [
        { accessMode: 'write', sideEffects: ['write', 'filesystem'] },
        write(),
        effect('net-write', { access: 'write' }),
      ],
      [
        { accessMode: 'readonly', executionCategory: 'compute' },
        effect('process-spawn', { access: 'write', destructive: true }),
      ],
    ] as const) {
      const correction = correctionOf(judgeTool(declared(metadata), traced(...effects)))!;
      const kept = Object.fromEntries(
        Object.entries(metadata).filter(([field]) => !(field in correction.before)),
      );
      expect(
        judgeTool(declared({ ...kept, ...correction.after }), traced(...effects)),
        JSON.stringify(correction),
      ).toMatchObject({ verdict: 'agrees', findings: [] });
    }
  });

  it('a correction is printed as a diff', () => {
    const text = (annotations: object, ...effects: readonly Effect[]) =>
      correctionText(fix(annotations, ...effects)!, 'src/tool.ts:5').split('\n');
    expect(text({ ...READER, openWorldHint: false }, write({ idempotent: null }))).toEqual([
      '@@ save src/tool.ts:5',
      '-   readOnlyHint: true,',
      '+   readOnlyHint: false,',
      '+   destructiveHint: true,',
      '+   idempotentHint: false, // not determined by the code, so the strictest',
      '    openWorldHint: false,',
    ]);
    expect(
      correctionText(
        correctionOf(
          judgeTool(declared({ accessMode: 'readonly', category: 'notes' }), traced(write())),
        )!,
        undefined,
      ).split('\n'),
    ).toEqual([
      '@@ save',
      "-   accessMode: 'readonly',",
      "+   accessMode: 'write',",
      "+   dangerLevel: 'medium',",
      "+   sideEffects: ['write', 'filesystem'],",
    ]);
  });
});
