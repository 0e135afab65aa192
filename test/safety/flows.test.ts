import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  defineTool,
  SafetyPolicy,
  ToolMetadataRegistry,
  type SafetyPolicyOptions,
  type ToolOptions,
} from '../../src/index.js';

const page = {
  private: { toolName: 'read_file', callId: '5', at: 0 },
  untrusted: { toolName: 'fetch_url', callId: '3', at: 0, from: 'example.org' },
} as const;
const onlyPage = { untrusted: page.untrusted };

const mail = (options: Partial<ToolOptions> = {}) =>
  defineTool({
    name: 'send_mail',
    description: 'Sends a mail',
    inputSchema: z.object({
      to: z.unknown().optional(),
      body: z.string().optional(),
      n: z.number().optional(),
    }),
    accessMode: 'write',
    dangerLevel: 'medium',
    reads: [],
    sends: 'outside',
    sensitive: ['to', 'n'],
    ...options,
    execute: () => 'sent',
  });

function decided(
  input: object,
  {
    flow = page,
    userText,
    tool = mail(),
    ...options
  }: Omit<SafetyPolicyOptions, 'registry'> & {
    flow?: object | 'unknown';
    userText?: string | string[];
    tool?: ReturnType<typeof mail>;
  } = {},
) {
  const registry = new ToolMetadataRegistry();
  const { name } = registry.register(tool)[0]!;
  return new SafetyPolicy({ registry, mode: 'flow', ...options }).decide(
    { id: '9', name, input },
    { ...(flow !== 'unknown' && { flow }), ...(userText !== undefined && { userText }) },
  );
}

describe('a policy that knows what a conversation has read', () => {
  it('asks about a call that sends after untrusted content and private data, with the chain as the reason', () => {
    expect(decided({ to: 'x@evil.example' })).toMatchObject({
      verdict: 'confirm',
      rule: 'flow-leaks',
      reason:
        '`fetch_url` (call 3) brought content from example.org, `read_file` (call 5) read private data, and `send_mail` would send outside',
    });
  });

  it('quotes an id that reads like a part of the chain', () => {
    const callId = '3) is the user’s, `send_mail` (call 9\n\u202e';
    expect(
      decided({ to: 'x@evil.example' }, { flow: { untrusted: { ...page.untrusted, callId } } }),
    ).toMatchObject({
      reason:
        '`fetch_url` (call "3) is the user’s, `send_mail` (call 9\\n\\\\u{202e}") brought content from example.org, and `send_mail` would send outside',
    });
  });

  it('asks about writes and sends after untrusted content alone, and about neither after private data alone', () => {
    expect(decided({ to: 'x@evil.example' }, { flow: onlyPage })).toMatchObject({
      verdict: 'confirm',
      rule: 'flow-influenced',
    });
    expect(
      decided({ to: 'x@evil.example' }, { flow: onlyPage, tool: mail({ sends: 'nowhere' }) }),
    ).toMatchObject({
      verdict: 'confirm',
      reason: expect.stringContaining('`send_mail` would write') as string,
    });
    expect(decided({ to: 'x@evil.example' }, { flow: { private: page.private } })).toMatchObject({
      verdict: 'allow',
    });
    expect(
      decided(
        { to: 'x@evil.example' },
        { tool: mail({ accessMode: 'readonly', sends: 'nowhere' }) },
      ),
    ).toMatchObject({ verdict: 'allow' });
    expect(
      decided(
        { to: 'x@evil.example' },
        { mode: 'default', tool: mail({ accessMode: 'readonly' }) },
      ),
    ).toMatchObject({ verdict: 'confirm', rule: 'flow-leaks' });
  });

  it('does with such calls what the policy says, and rules go before', () => {
    expect(decided({}, { flows: { leaks: 'deny' } })).toMatchObject({
      verdict: 'deny',
      rule: 'flow-leaks',
    });
    expect(decided({}, { flows: { leaks: 'deny' }, flow: onlyPage })).toMatchObject({
      verdict: 'confirm',
    });
    expect(
      decided({}, { flows: { leaks: 'deny' }, rules: [{ verdict: 'allow', tools: 'send_mail' }] }),
    ).toMatchObject({ verdict: 'allow', rule: 'rule 1' });
    expect(decided({}, { flows: { leaks: 'allow', influenced: 'allow' } })).toMatchObject({
      verdict: 'allow',
    });
  });

  it('of mode flow asks as the default mode where nothing is known of the conversation, and for consent and criticals in any case', () => {
    const input = { to: 'ada@corp.example' };
    expect(decided(input, { flow: 'unknown' })).toMatchObject({ verdict: 'confirm', rule: 'axes' });
    expect(decided(input, { flow: {} })).toMatchObject({ verdict: 'allow', rule: 'axes' });
    expect(decided(input, { flow: {}, tool: mail({ requiresConsent: true }) })).toMatchObject({
      verdict: 'confirm',
    });
    expect(decided(input, { flow: {}, tool: mail({ dangerLevel: 'critical' }) })).toMatchObject({
      verdict: 'confirm',
    });
    expect(
      decided(input, {
        flow: {},
        tool: mail({ dangerLevel: 'critical' }),
        userText: 'Write to ada@corp.example.',
      }),
    ).toMatchObject({ verdict: 'allow' });
    expect(decided(input, { flow: {}, mode: 'default' })).toMatchObject({ verdict: 'confirm' });
  });
});

describe('a call whose sensitive arguments the user named', () => {
  const named = (input: object, userText: string | string[], more = {}) =>
    decided(input, { userText, ...more }).verdict === 'allow';

  it.each([
    [{ to: 'bob@corp.example' }, 'Send it to bob@corp.example.'],
    [{ to: 'Bob@Corp.example' }, 'to: bob@corp.EXAMPLE, please'],
    [
      { to: ['bob@corp.example', 'eve@corp.example'] },
      ['mail bob@corp.example', 'and <eve@corp.example>!'],
    ],
    [{ to: 'https://example.org/' }, 'Post it to example.org'],
    [
      { to: ['https://a.example/x', 'bob@corp.example'] },
      'Post it to [a](https://a.example/x)? Then mail "bob@corp.example"!',
    ],
    [{ to: 'the blue team', n: 1_200.5 }, 'Tell "the blue team" about the 1,200.5 we owe'],
    [{ n: 12 }, 'all 12.00 of it'],
  ])('needs no approval: %j in %j', (input, text) => {
    expect(named(input, text)).toBe(true);
  });

  it.each([
    [{ to: 'bob@corp.example' }, 'Send it to bob@corp.example.evil.com'],
    [{ to: 'bob@corp.example' }, 'Send it to notbob@corp.example'],
    [{ to: ['bob@corp.example', 'mallory@evil.com'] }, 'mail bob@corp.example'],
    [{ to: 'https://example.org@evil.com/' }, 'see https://example.org'],
    [{ to: 'https://evil.com/?q=example.org' }, 'see example.org'],
    [{ to: 'a' }, 'a'],
    [{ n: 12 }, 'room 123, or A12'],
    [{ n: 12 }, '-12'],
    [{ to: 'bob@corp.example' }, 'Send it to bоb@corp.example'], // The second letter is Cyrillic.
    [{ body: 'hello' }, 'hello'],
    [{}, 'anything'],
    [{ to: 'evil.example' }, 'Read https://news.example/?ref=evil.example first'],
    [{ to: 'eve@evil.example' }, 'Read https://news.example/next:eve@evil.example first'],
    [{ to: 'https://example.org/a' }, 'Read https://example.org/a?b=c first'],
    [{ to: 'brien@corp.example' }, "Write to o'brien@corp.example"],
    [{ n: 123 }, 'rooms 1,2,3'],
    [{ n: 12 }, 'rooms 1,2'],
    [{ n: 1.2 }, '1,200 of it'],
    [
      { to: { 'eve@evil.example': 'reader', 'bob@corp.example': 'reader' } },
      'Make bob@corp.example a reader',
    ],
    [{ to: new URL('https://evil.example') }, 'anything'],
    [{ to: ['bob@corp.example', new URL('https://evil.example')] }, 'Mail bob@corp.example'],
  ])('is not taken for the user’s own: %j in %j', (input, text) => {
    expect(named(input, text)).toBe(false);
  });

  it('does not count as reaching nobody where the tool names an argument that its input does not have', () => {
    const misspelt = defineTool({
      name: 'log',
      description: 'Logs',
      inputSchema: z.object({ note: z.string() }),
      accessMode: 'write',
      dangerLevel: 'low',
      reads: [],
      sends: 'nowhere',
      sensitive: ['nte'],
      execute: () => 1,
    });
    const spelt = defineTool({
      name: 'log',
      description: 'Logs',
      inputSchema: z.object({ note: z.string(), to: z.string().optional() }),
      accessMode: 'write',
      dangerLevel: 'low',
      reads: [],
      sends: 'nowhere',
      sensitive: ['to'],
      execute: () => 1,
    });
    const rulesOf = (tool: typeof spelt) => {
      const registry = new ToolMetadataRegistry();
      registry.register(tool);
      return new SafetyPolicy({ registry, mode: 'flow' }).decide(
        { id: 'l', name: 'log', input: { note: 'x' } },
        { flow: { untrusted: { toolName: 'fetch', callId: '1', at: 0 } } },
      ).rule;
    };
    expect([rulesOf(misspelt as never), rulesOf(spelt)]).toEqual(['flow-influenced', 'axes']);
  });

  it('names no more than somebody types: long or many values are not sought', () => {
    const words = Array.from({ length: 201 }, (_, index) => `word${index}`);
    expect(named({ to: words.slice(1) }, words.join(' '))).toBe(true);
    expect(named({ to: [...words.slice(1), ...words.slice(1)] }, words.join(' '))).toBe(true);
    expect(named({ to: words }, words.join(' '))).toBe(false);
    expect(named({ to: 'a'.repeat(2_049) }, 'a'.repeat(2_049))).toBe(false);
    expect(named({ to: 'aab' }, `${'a'.repeat(100)} aab`)).toBe(true);
  });

  it('is judged by the addresses in its schema where the tool names no sensitive arguments, and never where there are none', () => {
    const own = defineTool({
      name: 'send',
      description: 'Sends',
      inputSchema: z.object({ to: z.array(z.email()), about: z.string().optional() }),
      accessMode: 'write',
      dangerLevel: 'medium',
      sends: 'outside',
      execute: () => 1,
    });
    expect(
      named({ to: ['ada@corp.example'], about: 'x' }, 'ask ada@corp.example', { tool: own }),
    ).toBe(true);
    expect(named({ to: ['eve@corp.example'] }, 'ask ada@corp.example', { tool: own })).toBe(false);
    expect(named({ to: [] }, 'ask ada@corp.example', { tool: own })).toBe(false);
  });

  it.each<[string, object, boolean, object]>([
    [
      'undeclared arguments',
      { properties: { to: { format: 'email' } } },
      false,
      { bcc: 'eve@evil.example' },
    ],
    [
      'arguments that the schema describes elsewhere',
      {
        properties: { to: { format: 'email' }, cc: { $ref: '#/$defs/Mail' } },
        $defs: { Mail: { type: 'string', format: 'email' } },
      },
      false,
      { cc: 'eve@evil.example' },
    ],
    [
      'arguments that the schema describes by another one',
      { properties: { to: { format: 'email' }, cc: { $ref: '#/properties/to' } } },
      false,
      { cc: 'eve@evil.example' },
    ],
    [
      'what further arguments are',
      { properties: { to: { format: 'email' } }, additionalProperties: { format: 'email' } },
      false,
      { cc: 'eve@evil.example' },
    ],
    [
      'addresses far down',
      {
        properties: {
          to: { format: 'email' },
          a: {
            properties: {
              a: {
                properties: {
                  a: {
                    properties: {
                      a: { properties: { a: { properties: { a: { format: 'email' } } } } },
                    },
                  },
                },
              },
            },
          },
        },
      },
      false,
      { a: { a: { a: { a: { a: { a: 'eve@evil.example' } } } } } },
    ],
    [
      'no text that the schema describes elsewhere',
      {
        properties: {
          to: { format: 'email' },
          kind: { $ref: '#/$defs/Kind', description: 'The kind' },
        },
        $defs: { Kind: { type: 'string' } },
      },
      true,
      { kind: 'letter' },
    ],
    [
      'no text that alternatives declare',
      {
        anyOf: [
          { properties: { to: { format: 'email' } } },
          { properties: { about: { type: 'string' } } },
        ],
      },
      true,
      { about: 'letter' },
    ],
    [
      'no texts of a declared list',
      {
        properties: { to: { format: 'email' }, tags: { type: 'array' } },
        additionalProperties: false,
      },
      true,
      { tags: ['letter'] },
    ],
  ])(
    'is judged by %s too where the tool names no sensitive arguments',
    (_, schema, isOwn, more) => {
      const tool = defineTool({
        name: 'send',
        description: 'Sends',
        inputSchema: { type: 'object', ...schema } as never,
        accessMode: 'write',
        dangerLevel: 'medium',
        sends: 'outside',
        execute: () => 1,
      }) as never;
      expect(named({ to: 'ada@corp.example', ...more }, 'ask ada@corp.example', { tool })).toBe(
        isOwn,
      );
    },
  );

  it('is never one of more different values than users name, however many are equal', () => {
    const to = Array.from({ length: 201 }, (_, n) => `u${n}@corp.example`);
    expect(named({ to }, to.join(' '))).toBe(false);
    expect(named({ to: to.slice(1) }, to.join(' '))).toBe(true);
    expect(named({ to: Array.from({ length: 5_000 }, () => to[0]) }, to.join(' '))).toBe(true);
  });

  it('that are none at all runs where its tool says so, it stays inside and is not dangerous', () => {
    const draft = (options: Partial<ToolOptions> = {}) => mail({ sends: 'nowhere', ...options });
    expect(decided({ body: 'x' }, { tool: draft() })).toMatchObject({ verdict: 'allow' });
    expect(decided({ body: 'x', to: 'a@b.example' }, { tool: draft() })).toMatchObject({
      verdict: 'confirm',
    });
    expect(decided({ body: 'x' }, { tool: draft({ dangerLevel: 'high' }) })).toMatchObject({
      verdict: 'confirm',
    });
    expect(decided({ body: 'x' }, { tool: draft({ dangerFor: () => 'high' }) })).toMatchObject({
      verdict: 'confirm',
    });
  });

  it('is never one of which any value is missing in what the user said', () => {
    const word = fc.stringMatching(/^[a-z]{3,9}@[a-z]{3,9}\.example$/);
    fc.assert(
      fc.property(fc.uniqueArray(word, { minLength: 1, maxLength: 4 }), word, (said, other) => {
        fc.pre(!said.includes(other));
        expect(named({ to: said }, `Mail ${said.join(', ')}.`)).toBe(true);
        expect(named({ to: [...said, other] }, `Mail ${said.join(', ')}.`)).toBe(false);
      }),
    );
  });
});

describe('what one call reads and where it sends', () => {
  const tool = (flowFor: () => unknown) =>
    mail({ flowFor: flowFor as NonNullable<ToolOptions['flowFor']> });

  it('is what flowFor says of its arguments, and the strictest where it fails', () => {
    expect(
      decided({ to: 'x@y.example' }, { tool: tool(() => ({ sends: 'nowhere' })) }),
    ).toMatchObject({ rule: 'flow-influenced' });
    for (const fails of [
      () => {
        throw new Error('no');
      },
      () => 1,
      () => ({ sends: 'moon' }),
      () => ({ reads: ['all'] }),
      () => Promise.resolve({ sends: 'nowhere' }),
    ]) {
      expect(decided({ to: 'x@y.example' }, { tool: tool(fails) })).toMatchObject({
        rule: 'flow-leaks',
      });
    }
  });

  it('is on the strict side where a tool does not declare it, as far as its effects do not tell', () => {
    const registry = new ToolMetadataRegistry();
    const register = (name: string, options: Partial<ToolOptions>) =>
      registry.register(
        defineTool({ name, description: name, inputSchema: {}, ...options, execute: () => 1 }),
      );
    register('nothing', {});
    register('reader', { accessMode: 'readonly' });
    register('fetcher', { accessMode: 'readonly', executionCategory: 'network' });
    register('local_writer', { sideEffects: ['write', 'filesystem'] });
    register('writer', { accessMode: 'write' });
    register('sum', { executionCategory: 'compute', sideEffects: 'none' });
    expect(
      [...registry].filter(({ reads }) => reads.includes('untrusted')).map(({ name }) => name),
    ).toEqual(['nothing', 'reader', 'fetcher', 'local_writer', 'writer']);
    expect([...registry].map(({ sends }) => sends)).toEqual([
      'outside',
      'nowhere',
      'outside',
      'nowhere',
      'outside',
      'nowhere',
    ]);
    expect(registry.require('sum')).toMatchObject({
      reads: [],
      inferred: expect.arrayContaining(['reads', 'sends']) as unknown,
    });
  });
});

describe('a dry run of several calls', () => {
  it('judges each by what those before it would read', () => {
    const registry = new ToolMetadataRegistry();
    registry.register(mail());
    registry.register(
      defineTool({
        name: 'fetch',
        description: 'Fetches',
        inputSchema: { type: 'object' },
        accessMode: 'readonly',
        reads: ['untrusted'],
        sends: 'outside',
        execute: () => 1,
      }),
    );
    const policy = new SafetyPolicy({ registry, mode: 'flow' });
    const [before, read, after] = policy.dryRun([
      { id: '1', name: 'send_mail', input: {} },
      { id: '2', name: 'fetch', input: { url: 'https://example.org/x' } },
      { id: '3', name: 'send_mail', input: {} },
    ]);
    expect([before!.verdict, read!.verdict, after!.verdict]).toEqual(['allow', 'allow', 'confirm']);
    expect(after!.reason).toBe(
      '`fetch` (call 2) brought content from example.org, and `send_mail` would send outside',
    );
  });
});
