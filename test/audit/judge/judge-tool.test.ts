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

/** The facts of a tool of this package with some metadata. */
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
    ['that says it reads, and reads', READER, [reads], 'agrees'],
    ['that says it reads, and has no effect', READER, [], 'agrees'],
    ['that says it reads, and writes', READER, [reads, write()], 'lies'],
    [
      'that says it reads, and writes where an argument says so',
      READER,
      [write({ ...maybe, argument: 'filename' })],
      'lies',
    ],
    [
      'that says it reads, and may write for a reason that the code does not show',
      READER,
      [write(maybe)],
      'unknown',
    ],
    [
      'that says it reads, and calls what nobody knows',
      READER,
      [effect('net-write', { access: 'unknown', ...maybe })],
      'unknown',
    ],
    [
      'that says it reads, and calls what nobody knows where an argument says so',
      READER,
      [effect('net-write', { access: 'unknown', ...maybe, argument: 'id' })],
      'unknown',
    ],
    [
      'that says it reads a closed world, and asks a service',
      { ...READER, openWorldHint: false },
      [effect('net-read')],
      'agrees',
    ],
    ['that says it writes, and writes', WRITER, [write()], 'agrees'],
    ['that says it writes, and may write', WRITER, [write(maybe)], 'unknown'],
    ['that says it writes, and only reads', WRITER, [reads], 'over-cautious'],
    [
      'that says it only adds, and overwrites',
      { ...WRITER, destructiveHint: false },
      [write()],
      'agrees',
    ],
    [
      'that says it only adds, and deletes',
      { ...WRITER, destructiveHint: false },
      [write({ call: 'fs.unlink' })],
      'lies',
    ],
    [
      'that says it only adds, and may overwrite for a reason that the code does not show',
      { ...WRITER, destructiveHint: false },
      [write(maybe)],
      'unknown',
    ],
    [
      'that says it only adds, and writes a file again that it has read',
      { ...WRITER, destructiveHint: false },
      [reads, write()],
      'agrees',
    ],
    [
      'that says it only adds, and deletes a file that it has read',
      { ...WRITER, destructiveHint: false },
      [reads, write({ call: 'fs.unlink' })],
      'lies',
    ],
    [
      'that says a repeat changes nothing, and makes something at a service that may know it again',
      { ...WRITER, idempotentHint: true },
      [effect('net-write', { access: 'write', idempotent: false })],
      'agrees',
    ],
    [
      'that says it only adds, and adds',
      { ...WRITER, destructiveHint: false },
      [write({ destructive: false })],
      'agrees',
    ],
    [
      'that says it destroys, and only adds',
      { ...WRITER, destructiveHint: true },
      [write({ destructive: false })],
      'over-cautious',
    ],
    [
      'that says it destroys, and writes in a way that is not known',
      { ...WRITER, destructiveHint: true },
      [write({ destructive: null })],
      'agrees',
    ],
    [
      'that says a repeat changes nothing, and appends',
      { ...WRITER, idempotentHint: true },
      [write({ idempotent: false, call: 'fs.appendFile' })],
      'lies',
    ],
    ['that says nothing, and writes', {}, [write()], 'undeclared'],
    ['that says nothing, and reads', undefined, [reads], 'undeclared'],
    ['whose hint is no boolean', { readOnlyHint: 'true' }, [reads], 'undeclared'],
    [
      'that only says that it does not destroy, and deletes',
      { destructiveHint: false },
      [write({ call: 'fs.rm' })],
      'lies',
    ],
  ] as const)('an MCP tool %s gets the right verdict', (_, annotations, effects, verdict) => {
    expect(said(annotations, ...effects).verdict).toBe(verdict);
  });

  it("the verdict is unknown if the code isn't found or couldn't all be followed, unless a lie is certain", () => {
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

  it('findings list each lying call once, the surest and most serious path first', () => {
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

  it('a finding says what clients assume when readOnlyHint is missing', () => {
    expect(said({}, reads).findings.map(({ message }) => message)).toEqual([
      'declares no readOnlyHint, which clients take for a tool that writes and destroys; it only reads',
    ]);
    expect(
      said({ destructiveHint: false }, write({ destructive: false })).findings.map(
        ({ message }) => message,
      ),
    ).toEqual([
      'declares no readOnlyHint, which clients take for a tool that writes; it changes files (fs.writeFile)',
    ]);
  });

  it('a tool that leaves its closed world gets a note', () => {
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

describe('found effects', () => {
  it.each([
    ['nothing', [], { readOnly: true, destructive: false, idempotent: true, openWorld: false }],
    [
      'a sure write',
      [write()],
      { readOnly: false, destructive: true, idempotent: true, openWorld: false },
    ],
    [
      'a write of which little is known',
      [write({ destructive: null, idempotent: null })],
      { readOnly: false, destructive: null, idempotent: null, openWorld: false },
    ],
    [
      'a write that may be',
      [write(maybe)],
      { readOnly: null, destructive: null, idempotent: null, openWorld: false },
    ],
    [
      'a program',
      [effect('process-spawn')],
      { readOnly: true, destructive: false, idempotent: true, openWorld: null },
    ],
    [
      'a request',
      [effect('net-read')],
      { readOnly: true, destructive: false, idempotent: true, openWorld: true },
    ],
    [
      'a request that may be',
      [effect('net-read', maybe)],
      { readOnly: true, destructive: false, idempotent: true, openWorld: null },
    ],
    [
      'a sure write and something unknown',
      [write({ destructive: false }), effect('net-write', { access: 'unknown' })],
      { readOnly: false, destructive: null, idempotent: null, openWorld: true },
    ],
  ] as const)('the facts found for %s claim nothing more', (_, effects, found) => {
    expect(said(READER, ...effects).found).toEqual({ ...found, effects });
  });
});

it.each([
  ['readonly, that writes', { accessMode: 'readonly' }, [write()], 'lies', ['accessMode']],
  [
    'with side effects none, that writes',
    { sideEffects: 'none' },
    [write()],
    'lies',
    ['sideEffects'],
  ],
  [
    'readonly with side effects none, that asks a service',
    { accessMode: 'readonly', sideEffects: 'none' },
    [effect('net-read')],
    'lies',
    ['sideEffects'],
  ],
  [
    'readonly with side effects none, that runs a program that reads',
    { accessMode: 'readonly', sideEffects: 'none' },
    [effect('process-spawn')],
    'agrees',
    [],
  ],
  [
    'readonly and cached, that writes',
    { accessMode: 'readonly', cacheTtlMs: 1_000 },
    [write()],
    'lies',
    ['accessMode', 'cacheTtlMs'],
  ],
  [
    'write with side effects that only read, that writes',
    { accessMode: 'write', sideEffects: 'read_external_service' },
    [write()],
    'lies',
    ['sideEffects'],
  ],
  [
    'write of local files, that sends',
    { accessMode: 'write', sideEffects: ['write', 'filesystem'] },
    [write(), effect('net-write', { access: 'write', call: 'POST' })],
    'lies',
    ['sideEffects'],
  ],
  [
    'write with the category read_only, that writes',
    { accessMode: 'write', executionCategory: 'read_only' },
    [write()],
    'lies',
    ['executionCategory'],
  ],
  [
    'of the category compute, that asks a service',
    { accessMode: 'readonly', executionCategory: 'compute' },
    [effect('net-read')],
    'lies',
    ['executionCategory'],
  ],
  [
    'write of danger low, that deletes',
    { accessMode: 'write', dangerLevel: 'low' },
    [write({ call: 'fs.rm' })],
    'lies',
    ['dangerLevel'],
  ],
  [
    'write of danger low that an input can raise, that overwrites',
    { accessMode: 'write', dangerLevel: 'low', dangerFor: () => 'high' },
    [write()],
    'agrees',
    [],
  ],
  [
    'write of danger medium, that overwrites',
    { accessMode: 'write', dangerLevel: 'medium', sideEffects: ['write', 'filesystem'] },
    [write()],
    'agrees',
    [],
  ],
  [
    'write with an idempotency key, that appends',
    { accessMode: 'write', idempotencyKey: true },
    [write({ idempotent: false })],
    'lies',
    ['idempotencyKey'],
  ],
  [
    'write with an idempotency key, that sends a POST, which may carry the key',
    { accessMode: 'write', idempotencyKey: true },
    [effect('net-write', { access: 'write', idempotent: false })],
    'agrees',
    [],
  ],
  ['write, that only reads', { accessMode: 'write' }, [reads], 'over-cautious', ['accessMode']],
  [
    'execute, that runs a program that reads',
    { accessMode: 'execute' },
    [effect('process-spawn')],
    'agrees',
    [],
  ],
  ['of which nothing is declared, that writes', {}, [write()], 'undeclared', ['accessMode']],
  [
    'of which only the danger is declared, that writes',
    { dangerLevel: 'high' },
    [write()],
    'undeclared',
    ['accessMode'],
  ],
] as const)('a tooldex tool (%s) gets the right verdict', (_, metadata, effects, verdict, axes) => {
  const audit = judgeTool(declared(metadata), traced(...effects));
  expect([audit.verdict, audit.findings.map(({ axis }) => axis)]).toEqual([verdict, axes]);
});

describe('corrections', () => {
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

  it('a correction never loosens a declaration', () => {
    expect(fix({}, reads)).toBeUndefined();
    expect(fix(WRITER, reads)).toBeUndefined();
    expect(
      correctionOf(judgeTool(declared({ accessMode: 'write' }), traced(reads))),
    ).toBeUndefined();
    expect(correctionOf(judgeTool(declared({}), traced(reads)))).toBeUndefined();
  });

  it('a correction keeps declarations that nothing contradicts and takes the strictest value for unknowns', () => {
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
    // If a tool says that it reads, its other hints mean nothing.
    expect(
      fix({ ...READER, destructiveHint: false }, write({ destructive: null }))?.after,
    ).toMatchObject({ destructiveHint: true });
  });

  it('a tool that agrees or is unknown gets no correction', () => {
    expect([fix(READER, reads), fix(READER, write(maybe)), fix(WRITER, write())]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('a corrected tooldex tool agrees with its code', () => {
    for (const [metadata, ...effects] of [
      [
        { accessMode: 'readonly', sideEffects: 'none', cacheTtlMs: 10, dangerLevel: 'safe' },
        write(),
      ],
      [{ accessMode: 'readonly' }, effect('net-write', { access: 'write' })],
      [
        { accessMode: 'write', sideEffects: ['write', 'filesystem'] },
        write(),
        effect('net-write', { access: 'write' }),
      ],
      [{ accessMode: 'write', sideEffects: 'none', executionCategory: 'compute' }, write()],
      [
        { accessMode: 'readonly', executionCategory: 'compute' },
        effect('process-spawn', { access: 'write', destructive: true }),
      ],
      [
        { accessMode: 'write', idempotencyKey: true, dangerLevel: 'low' },
        write({ idempotent: false }),
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

  it('a correction is printed like a patch', () => {
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
