import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  audio,
  defineTool,
  fail,
  file,
  halt,
  image,
  isToolError,
  ok,
  resourceLink,
  text,
  ToolExecutor,
  ToolMetadataRegistry,
  type ContentPart,
} from '../../src/index.js';
import { boundText, readOutcome } from '../../src/safety/read-outcome.js';
import { propertyRuns } from '../property-runs.js';

const PIXEL = Uint8Array.from([137, 80, 78, 71]);

function codeOf(make: () => unknown): unknown {
  try {
    make();
  } catch (error) {
    return isToolError(error) ? `${error.code}: ${error.message}` : error;
  }
  return undefined;
}

/** Runs a tool that returns these parts. */
async function outcomeOf(result: unknown, options: object = {}, executorOptions: object = {}) {
  const registry = new ToolMetadataRegistry();
  registry.register(
    defineTool({
      name: 'shot',
      description: 'Takes a picture',
      inputSchema: { type: 'object' },
      accessMode: 'readonly',
      execute: () => result,
      ...options,
    }),
  );
  return new ToolExecutor({ registry, ...executorOptions }).execute({
    id: '1',
    name: 'shot',
    input: {},
  });
}

it('a content part contains base64 data with its size, or a URL', () => {
  expect(image(PIXEL, 'image/png')).toEqual({
    type: 'image',
    mediaType: 'image/png',
    data: 'iVBORw==',
    size: 4,
  });
  expect(audio(new URL('https://example.org/a.mp3'), 'audio/mpeg', { audience: ['user'] })).toEqual(
    {
      type: 'audio',
      mediaType: 'audio/mpeg',
      url: 'https://example.org/a.mp3',
      audience: ['user'],
    },
  );
  expect(
    file('data:application/pdf;base64,JVBERg==', 'application/pdf', { name: 'a.pdf' }),
  ).toEqual({
    type: 'file',
    mediaType: 'application/pdf',
    data: 'JVBERg==',
    size: 4,
    name: 'a.pdf',
  });
  expect(resourceLink('https://example.org/docs/report.pdf?x=1')).toEqual({
    type: 'resource_link',
    uri: 'https://example.org/docs/report.pdf?x=1',
    name: 'report.pdf',
  });
  expect(Object.isFrozen(text('hi'))).toBe(true);
});

it('a result with more than 128 MiB of content is refused', () => {
  const large = image(new Uint8Array(2 ** 25), 'image/png');
  expect(ok(1, { content: [large, large, large, large] })).toMatchObject({ status: 'ok' });
  expect(codeOf(() => ok(1, { content: [large, large, large, large, text('a')] }))).toBe(
    'INVALID_ARGUMENT: Expected content of at most 128.0 MiB in total, got 128.0 MiB. Upload it somewhere, and pass its URL instead.',
  );
});

it.each<readonly [string, () => unknown, RegExp]>([
  [
    'neither bytes nor a URL',
    () => image(5 as never, 'image/png'),
    /url: Expected a string, got 5/,
  ],
  [
    'more than 32 MiB',
    () => file(new Uint8Array(2 ** 25 + 1), 'application/zip'),
    /at most 32 MiB/,
  ],
  [
    'invalid base64',
    () => image('data:image/png;base64,not base64!', 'image/png'),
    /data: Expected standard base64 with its padding, of at most 32 MiB, got "not base64!"/,
  ],
  [
    'an object that no helper created',
    () => ok(1, { content: [{ type: 'picture' }] as never }),
    /a part created by text, image, audio, file, or resourceLink, got "picture"/,
  ],
])('a content part from %s is refused', (_, make, message) => {
  expect(codeOf(make)).toMatch(/^INVALID_ARGUMENT/);
  expect(codeOf(make)).toMatch(message);
});

it('programs receive the value of a result with content, and models receive the text and parts in order', async () => {
  const outcome = await outcomeOf(ok({ width: 2 }, { content: [image(PIXEL, 'image/png')] }));
  expect(outcome).toMatchObject({
    status: 'ok',
    value: { width: 2 },
    content: [{ type: 'image' }],
  });
  expect(readOutcome(outcome)).toMatchObject({
    kind: 'result',
    text: '{"width":2}\n[image: image/png, 4 bytes]',
    data: { width: 2 },
    content: [
      { type: 'text', text: '{"width":2}' },
      { type: 'image', data: 'iVBORw==' },
    ],
  });
});

it("models see text parts instead of the value, and don't see null or parts for users", async () => {
  const read = async (value: unknown, ...content: ContentPart[]) =>
    readOutcome(await outcomeOf(ok(value, { content }))).text;
  expect(await read({ width: 2 }, text('A picture, 2 wide'), image(PIXEL, 'image/png'))).toBe(
    'A picture, 2 wide\n[image: image/png, 4 bytes]',
  );
  expect(await read(null, image(PIXEL, 'image/png', { name: 'shot.png' }))).toBe(
    '[image shot.png: image/png, 4 bytes]',
  );
  expect(await read(3, text('not for the model', { audience: ['user'] }))).toBe('3');
  expect(
    await read(null, file(new TextEncoder().encode('a,b'), 'text/csv', { name: 'a.csv' })),
  ).toBe('a.csv:\na,b');
});

it("blank text isn't sent to models, because model services refuse blank text", async () => {
  const read = async (value: unknown, ...content: ContentPart[]) =>
    readOutcome(await outcomeOf(ok(value, { content }))).content.map((part) =>
      part.type === 'text' ? part.text : part.type,
    );
  expect(await read(null, text(''), image(PIXEL, 'image/png'), text(' \n'))).toEqual(['image']);
  expect(await read('', image(PIXEL, 'image/png'))).toEqual(['image']);
  expect(await read(7, text(''), file(new Uint8Array(0), 'text/plain'))).toEqual(['7']);
  expect(await read('')).toEqual(['']);
});

it('a halt with content ends the run with its value and keeps the parts', async () => {
  const outcome = await outcomeOf(
    halt('done', ok({ width: 2 }, { content: [image(PIXEL, 'image/png')] })),
  );
  expect(outcome).toMatchObject({
    status: 'halt',
    reason: 'done',
    value: { width: 2 },
    content: [{ type: 'image', data: 'iVBORw==' }],
  });
  expect(readOutcome(outcome)).toMatchObject({
    text: '{"width":2}\n[image: image/png, 4 bytes]',
    haltReason: 'done',
    content: [{ type: 'text' }, { type: 'image' }],
  });
  expect(
    await outcomeOf(halt('done', ok('x')), { outputSchema: { type: 'object' } }),
  ).toMatchObject({ status: 'error', code: 'INVALID_RESULT', haltReason: 'done' });
});

it('the value of a result with content is validated against the output schema, and cached with the parts', async () => {
  let runs = 0;
  const registry = new ToolMetadataRegistry();
  registry.register(
    defineTool({
      name: 'shot',
      description: 'Takes a picture',
      inputSchema: { type: 'object' },
      outputSchema: { type: 'object', required: ['width'] },
      accessMode: 'readonly',
      cacheTtlMs: 1_000,
      execute: () => ok({ width: ++runs }, { content: [image(PIXEL, 'image/png')] }),
    }),
  );
  const executor = new ToolExecutor({ registry });
  const [first, second] = [
    await executor.execute({ id: '1', name: 'shot' }),
    await executor.execute({ id: '2', name: 'shot' }),
  ];
  expect([first.cached, second.cached, runs]).toEqual([false, true, 1]);
  expect(second).toMatchObject({
    value: { width: 1 },
    content: [{ type: 'image', data: 'iVBORw==' }],
  });
  expect(
    await outcomeOf(ok('no object', { content: [image(PIXEL, 'image/png')] }), {
      outputSchema: { type: 'object' },
    }),
  ).toMatchObject({ status: 'error', code: 'INVALID_RESULT' });
});

const long = `BEGIN${'x'.repeat(200_000)}END`;

it('models see the beginning, end, and size of a result over maxResultBytes, and programs receive it in full', async () => {
  for (const [options, executorOptions, most] of [
    [{}, {}, 65_536],
    [{}, { maxResultBytes: 2_000 }, 2_000],
    [{ maxResultBytes: 5_000 }, { maxResultBytes: 2_000 }, 5_000],
  ] as const) {
    const outcome = await outcomeOf(long, options, executorOptions);
    expect(outcome).toMatchObject({ status: 'ok', value: long });
    const reading = readOutcome(outcome);
    expect(reading.text).toMatch(
      /^BEGINx+\n\[… \d+ of 200008 bytes are not shown: request less at a time …\]\nx+END$/,
    );
    expect(reading.text.length).toBeLessThan(most + 100);
    expect(reading.data).toBe(long);
  }
});

it('a shortened result has whole characters, and its length is within the limit plus one line', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 3_000, size: 'max' }),
      fc.integer({ min: 1, max: 2_000 }),
      (value, most) => {
        const shown = boundText(value, most);
        const bytes = Buffer.byteLength(value);
        if (bytes <= most) expect(shown).toBe(value);
        else expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(most + 90);
        expect(Buffer.from(shown).toString()).toBe(shown); // The text contains no split surrogate pairs.
        const [head = '', tail = ''] = shown.split(
          /\n\[… \d+ of \d+ bytes are not shown: request less at a time …\]\n/,
        );
        expect(value.startsWith(head) && value.endsWith(tail)).toBe(true);
      },
    ),
    { numRuns: propertyRuns(500) },
  );
});

it("maxResultBytes also limits the value of a halt, and a failure's message and details", async () => {
  const long = 'x'.repeat(5_000);
  for (const result of [halt('enough', long), fail(long), fail('no', { long })]) {
    const { text } = readOutcome(await outcomeOf(result, { maxResultBytes: 1_024 }));
    expect([text.length < 1_200, text.includes('bytes are not shown')]).toEqual([true, true]);
  }
  const outcome = await outcomeOf(fail(long), {}, { maxResultBytes: 2_048 });
  expect([
    outcome.status === 'error' && outcome.message.length,
    readOutcome(outcome).text.length < 2_200,
  ]).toEqual([5_000, true]);
});

it('all text parts of a result share maxResultBytes', async () => {
  const reading = readOutcome(
    await outcomeOf(
      ok(null, {
        content: [text('a'.repeat(1_500)), text('b'.repeat(1_500)), image(PIXEL, 'image/png')],
      }),
      { maxResultBytes: 2_000 },
    ),
  );
  expect(reading.text).toMatch(
    /^a{1500}\nb+\n\[… \d+ of 1500 bytes.*\]\nb+\n\[image: image\/png, 4 bytes\]$/s,
  );
});
