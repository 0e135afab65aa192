import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readMcpSettings } from '../../src/mcp/settings/read-mcp-settings.js';
import { findLookAlikes } from '../../src/mcp/translate/tool-names.js';
import { translateMcpTool } from '../../src/mcp/translate/translate-mcp-tool.js';
import { requiresApproval } from '../../src/registry/derived-sets.js';
import { uncheckedPatterns } from '../../src/json-schema/compile-json-schema.js';
import { checkInput } from '../../src/tool/check-input.js';
import { definitionOf, entryOf, type ToolEntry } from '../../src/tool/tool-definition.js';
import { propertyRuns } from '../property-runs.js';

const settingsWith = (server: object = {}, global: object = {}, name = 's') =>
  readMcpSettings({ enabled: true, ...global, servers: { [name]: { command: 'run', ...server } } });
const serverWith = (...given: Parameters<typeof settingsWith>) =>
  settingsWith(...given).servers[0]!;

function translated(tool: unknown, ...given: Parameters<typeof settingsWith>) {
  const translation = translateMcpTool(tool, serverWith(...given));
  if ('refused' in translation) throw new Error(translation.refused);
  return translation;
}
const optionsOf = (...given: Parameters<typeof translated>) => translated(...given).options;
const entryFor = (...given: Parameters<typeof translated>): ToolEntry =>
  entryOf(definitionOf(optionsOf(...given)));
const refusal = (tool: unknown, ...given: Parameters<typeof settingsWith>) => {
  const translation = translateMcpTool(tool, serverWith(...given));
  return 'refused' in translation ? translation.refused : undefined;
};
const nameOf = (name: string, server = 's') => translated({ name }, {}, {}, server).name;

it('names of MCP tools are mcp.<server>.<tool>, or mcp.<tool> if the server has no name', () => {
  expect(nameOf('browser.find', 'browser-server')).toBe('mcp.browser-server.browser.find');
  expect(nameOf('search', '')).toBe('mcp.search');
});

it('names of MCP tools encode characters outside the allowed set', () => {
  expect(nameOf('a b/ü')).toBe('mcp.s.a_x20_b_x2f__xfc_');
});

it('names of MCP tools are rejected if they are blank, too long, or contain hidden characters', () => {
  for (const name of [
    '',
    '  ',
    'a'.repeat(128),
    ' '.repeat(1e6),
    'a\u200bb',
    'a\u202eb',
    'a\nb',
    'a\ud800',
    '\u{e0041}',
    7,
    null,
    undefined,
    {},
  ])
    expect(refusal({ name })).toBeTypeOf('string');
  for (const name of ['constructor', '__proto__', 'toString'])
    expect(nameOf(name)).toBe(`mcp.s.${name}`);
});

describe('hints from MCP tools', () => {
  it('from an untrusted server never relax a restriction', () => {
    const hint = fc.oneof(fc.boolean(), fc.constantFrom(undefined, null, 'true', 1, {}));
    const settings = fc.record(
      {
        side_effects: fc.constantFrom(
          'none',
          'write',
          'network',
          'system',
          'read_external_service',
          'filesystem',
        ),
        access_mode: fc.constantFrom('mixed', 'execute'),
        danger_level: fc.constantFrom('low', 'critical'),
        requires_consent: fc.boolean(),
        allow_parallel: fc.boolean(),
        idempotency_key: fc.boolean(),
      } as const,
      { requiredKeys: [] },
    );
    const rank = (entry: ToolEntry) =>
      ['safe', 'low', 'medium', 'high', 'critical'].indexOf(entry.dangerLevel);
    fc.assert(
      fc.property(
        settings,
        fc.record({
          readOnlyHint: hint,
          destructiveHint: hint,
          idempotentHint: hint,
          openWorldHint: hint,
        }),
        (server, annotations) => {
          const [bare, hinted] = [
            entryFor({ name: 't' }, server),
            entryFor({ name: 't', annotations }, server),
          ];
          expect(rank(hinted)).toBeGreaterThanOrEqual(rank(bare));
          expect(requiresApproval(hinted) || !requiresApproval(bare)).toBe(true);
          expect(
            hinted.accessMode === bare.accessMode ||
              (bare.accessMode === 'readonly' && hinted.accessMode === 'mixed'),
          ).toBe(true);
          for (const axis of [
            'requiresConsent',
            'allowParallel',
            'idempotencyKey',
            'sideEffects',
          ] as const)
            expect(hinted[axis]).toEqual(bare[axis]);
        },
      ),
      { numRuns: propertyRuns(1_000) },
    );
  });

  it('results count as untrusted and calls as sending outside, unless the operator declares otherwise', () => {
    expect(entryFor({ name: 't' })).toMatchObject({ reads: ['untrusted'], sends: 'outside' });
    expect(entryFor({ name: 't' }, { reads: [], sends: 'nowhere' })).toMatchObject({
      reads: [],
      sends: 'nowhere',
    });
  });

  it('from a trusted server are used unless the settings override them', () => {
    const annotations = { readOnlyHint: true };
    expect(entryFor({ name: 't', annotations }, { trusted: true })).toMatchObject({
      accessMode: 'readonly',
      requiresConsent: false,
      allowParallel: true,
    });
    expect(
      entryFor({ name: 't', annotations }, { trusted: true, requires_consent: true }),
    ).toMatchObject({ accessMode: 'readonly', requiresConsent: true });
    expect(
      entryFor({ name: 't', annotations }, { trusted: true, side_effects: 'write' }),
    ).toMatchObject({ accessMode: 'write', requiresConsent: true });
  });

  it('are always believed if they make a tool stricter', () => {
    expect(
      entryFor(
        { name: 't', annotations: { destructiveHint: true } },
        { side_effects: 'read_external_service' },
      ),
    ).toMatchObject({ accessMode: 'mixed', dangerLevel: 'high' });
    expect(
      entryFor(
        { name: 't', annotations: { readOnlyHint: false } },
        { side_effects: 'read_external_service' },
      ),
    ).toMatchObject({ accessMode: 'mixed', dangerLevel: 'high' });
    expect(
      entryFor({ name: 't', annotations: { destructiveHint: true } }, { danger_level: 'low' })
        .dangerLevel,
    ).toBe('low');
  });

  it.each([
    [{ persona: 'nova' }, [' Atlas', 'Nova'], ['nova']],
    [{ persona: 'Echo' }, ['Nova'], []],
    [{ persona_allowlist: ['atlas', 'Echo'] }, ['Atlas', 'Nova'], ['atlas']],
  ])(
    "server settings %j and the tool's allowlist %j allow only the personas %j",
    (settings, own, allowed) => {
      expect(
        optionsOf({ name: 't', ...(own && { persona_allowlist: own }) }, settings).personaAllowlist,
      ).toEqual(allowed);
    },
  );
});

describe('schemas of MCP tools', () => {
  const schemaOf = (inputSchema: unknown) => translated({ name: 't', inputSchema });

  it('are repaired if they contain common mistakes', () => {
    expect(
      schemaOf({ properties: { a: {} }, required: ['a', 1, '', ' b '] }).options.inputSchema,
    ).toEqual({ type: 'object', properties: { a: {} }, required: ['a', 'b'] });
    expect(schemaOf({ type: 'string', properties: [], required: 'a' }).options.inputSchema).toEqual(
      { type: 'object', properties: {}, required: ['a'] },
    );
    expect(schemaOf(undefined).options.inputSchema).toEqual({ type: 'object', properties: {} });
  });

  it.each<[string, unknown]>([
    ['a string', 'object'],
    ['hidden characters in a value', { properties: { a: { enum: ['x\u{e0041}'] } } }],
    ['an external reference', { properties: { a: { $ref: 'https://evil.example/schema' } } }],
    ['a dangling reference', { properties: { a: { $ref: '#/$defs/none' } } }],
    [
      '1,000 levels of nesting',
      {
        properties: {
          a: Array.from({ length: 1_000 }).reduce<object>((inner) => ({ not: inner }), {}),
        },
      },
    ],
  ])('a tool is rejected if its input schema is or contains %s', (_, inputSchema) => {
    expect(refusal({ name: 't', inputSchema })).toMatch(/schema|levels/);
  });

  it("patterns in a server's schema aren't run", () => {
    const inputSchema = {
      type: 'object',
      properties: { a: { type: 'string', pattern: '^(a+)+$' } },
    };
    const { options } = translated({ name: 't', inputSchema, outputSchema: inputSchema });
    for (const schema of [options.inputSchema, options.outputSchema!])
      expect(uncheckedPatterns(schema)).toEqual([
        { path: ['properties', 'a', 'pattern'], pattern: '^(a+)+$' },
      ]);
    const entry = entryOf(definitionOf(options));
    expect(checkInput(entry, { a: `${'a'.repeat(60)}b` })).toMatchObject({ ok: true });
    expect(checkInput(entry, { a: 1 })).toMatchObject({ ok: false });
  });

  it("patterns in a server's schema are checked if the user passes a regular-expression engine", () => {
    const tool = {
      name: 't',
      inputSchema: { type: 'object', properties: { a: { type: 'string', pattern: 'x' } } },
    };
    const translation = translateMcpTool(tool, serverWith(), (pattern) => ({
      test: (text) => text.includes(pattern),
    }));
    if ('refused' in translation) throw new Error(translation.refused);
    const entry = entryOf(definitionOf(translation.options));
    expect(uncheckedPatterns(entry.inputJsonSchema)).toEqual([]);
    expect([checkInput(entry, { a: 'x' }), checkInput(entry, { a: 'y' })]).toMatchObject([
      { ok: true },
      { ok: false, error: { code: 'INVALID_INPUT' } },
    ]);
  });

  it('are dropped if they are invalid output schemas', () => {
    const outputSchema = { type: 'object', properties: { n: { type: 'number' } } };
    expect(optionsOf({ name: 't', outputSchema }).outputSchema).toEqual(outputSchema);
    for (const bad of ['x', { $ref: 'https://evil.example' }, { type: 'objekt' }]) {
      const { options, changes } = translated({ name: 't', outputSchema: bad });
      expect(options).not.toHaveProperty('outputSchema');
      expect(changes).toHaveLength(1);
    }
  });
});

describe('credentials of MCP tools', () => {
  const authOf = (tool: object, server: object) => optionsOf({ name: 't', ...tool }, server).auth;

  it('are never fewer than the settings require', () => {
    for (const auth of [undefined, false, {}, { required: 'no', scopes: [] }, { scopes: ['b'] }]) {
      const { scopes } = authOf({ auth }, { auth: { required: true, scopes: ['a'] } })!;
      expect(scopes).toContain('a');
      expect(authOf({ auth }, { scopes: 'a' })).toMatchObject({ required: true });
    }
    expect(
      authOf(
        { requires_authentication: false, auth: { required: false } },
        { auth: { required: true } },
      ),
    ).toMatchObject({ required: true });
  });

  it.each([
    ['1', true],
    [1, true],
    [0, false],
  ])(
    "the value %j of requires_authentication is read as %j and reported because it isn't a boolean",
    (value, required) => {
      expect(translated({ name: 't', requires_authentication: value })).toMatchObject({
        options: { auth: { required } },
        changes: [expect.stringContaining('true or false in "requires_authentication"')],
      });
    },
  );
});

const found = (...tools: readonly (readonly [string, string])[]) =>
  findLookAlikes(tools.map(([server, toolName]) => ({ server, toolName }))).map(
    ({ kind, server, tool }) => [kind, server, tool],
  );

it('look-alike names are reported within a server and across servers', () => {
  expect(found(['a', 'read_file'], ['b', 'read_file'])).toEqual([
    ['look-alike', 'b', '"read_file"'],
  ]);
  expect(
    found(
      ['a', 'read_file'],
      ['a', 'reаd_file'],
      ['a', 'ｒead_file'],
      ['a', 'READ-FILE'],
      ['b', 'read_fi1e'],
    ),
  ).toHaveLength(4);
});
