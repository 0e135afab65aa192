import { embedMany } from 'ai';
import { MockEmbeddingModelV3 } from 'ai/test';
import fc from 'fast-check';
import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import {
  embedderOf,
  isToolError,
  rankHybrid,
  selectTools,
  type Embedder,
  type HybridOptions,
  type Ranking,
  type ToolMetadataRegistry,
} from '../../src/index.js';
import { registryOf, sample } from '../tool/sample-tools.js';

type Vectors = Awaited<ReturnType<Embedder['embed']>>;
type Embed = (texts: readonly string[], signal: AbortSignal) => Vectors | Promise<Vectors>;

/** An embedder, and what it was asked. */
function embedderWith(embed: Embed) {
  const calls: (readonly string[])[] = [];
  const signals: AbortSignal[] = [];
  const embedder: Embedder = {
    embed: async (texts, { signal } = {}) => {
      calls.push(texts);
      signals.push(signal!);
      return embed(texts, signal!);
    },
  };
  return { embedder, calls, signals };
}

/** Knows the meaning of a few words: weather, money, anything else. */
function meaning(text: string): readonly number[] {
  const count = (...words: readonly string[]) =>
    words.filter((word) => text.toLowerCase().includes(word)).length;
  return [
    count('weather', 'forecast', 'umbrella', 'rain'),
    count('invoice', 'money', 'salary'),
    count('sample') / 100,
  ];
}
const byMeaning = () => embedderWith((texts) => texts.map(meaning));

/** A timer that runs out when the test says so. */
function handTimer() {
  const running = new Set<() => void>();
  const started: number[] = [];
  const startTimer: NonNullable<HybridOptions['startTimer']> = (callback, milliseconds) => {
    started.push(milliseconds);
    running.add(callback);
    return () => void running.delete(callback);
  };
  return { startTimer, running, started, runOut: () => running.forEach((callback) => callback()) };
}

function deferred<T>() {
  let resolve!: (value: T) => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<T>((yes, no) => ([resolve, reject] = [yes, no]));
  return { promise, resolve, reject };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const namesOf = (ranking: Ranking) => ranking.map(({ toolName }) => toolName);
const lexical = (registry: ToolMetadataRegistry, text: string, limit = 50) =>
  registry
    .search(text, { limit })
    .map(({ toolName, score, explanation }) => ({ toolName, score, explanation }));
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no error',
    (error: unknown) => (isToolError(error) ? error.code : error),
  );

const offices = () =>
  registryOf(
    { name: 'weather_forecast', description: 'Tells whether rain is coming' },
    { name: 'umbrella_shop', description: 'Sells umbrellas' },
    { name: 'write_invoice', description: 'Writes an invoice' },
    { name: 'rain_check', description: 'Postpones what was agreed' },
  );

describe('the hybrid ranking', () => {
  it('has the tools that the words find and the tools that mean the same, and first those that are both', async () => {
    const { ranking, degraded } = await rankHybrid(offices(), 'weather', {
      embedder: byMeaning().embedder,
    });
    expect(degraded).toBeUndefined();
    expect(namesOf(ranking)).toEqual(['weather_forecast', 'rain_check', 'umbrella_shop']);
    // All mean the same, so only the search decides: one of three scores stands apart.
    expect(ranking.map(({ score }) => score)).toEqual(
      [Math.SQRT2, -Math.SQRT1_2, -Math.SQRT1_2].map(
        (score) => expect.closeTo(score, 12) as number,
      ),
    );
    expect(ranking.map(({ explanation }) => explanation)).toEqual([
      '"weather" in name; similar in meaning (1.00)',
      'similar in meaning (1.00)',
      'similar in meaning (1.00)',
    ]);
  });

  it('is frozen to the leaves', async () => {
    const result = await rankHybrid(offices(), 'weather', { embedder: byMeaning().embedder });
    expect([result, result.ranking, ...result.ranking].every(Object.isFrozen)).toBe(true);
  });

  it('orders equal scores by priority, then by name', async () => {
    const registry = registryOf(
      { name: 'b', priority: 2 },
      { name: 'c', priority: 1 },
      { name: 'a', priority: 2 },
    );
    const { ranking } = await rankHybrid(registry, 'xyz', {
      embedder: embedderWith((texts) => texts.map(() => [1])).embedder,
    });
    expect(ranking.map(({ toolName, score }) => [toolName, score])).toEqual([
      ['c', 0],
      ['a', 0],
      ['b', 0],
    ]);
  });

  const word = fc.constantFrom('read', 'file', 'weather', 'git', 'diff', 'image');
  const catalogue = fc.uniqueArray(
    fc.record({
      name: fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join('_')),
      priority: fc.constantFrom(0, 1, 2, 3),
      vector: fc.array(fc.integer({ min: -2, max: 2 }), { minLength: 3, maxLength: 3 }),
    }),
    { selector: ({ name }) => name, maxLength: 30 },
  );
  /** Gives tools the vectors they were drawn with, and requests a fixed one. */
  const drawn = (tools: readonly { readonly name: string; readonly vector: readonly number[] }[]) =>
    embedderWith((texts) =>
      texts.map(
        (text) => tools.find(({ name }) => text.split('\n')[0] === name)?.vector ?? [1, 2, 0],
      ),
    ).embedder;
  const registered = (tools: readonly { readonly name: string; readonly priority: number }[]) =>
    registryOf(...tools.map(({ name, priority }) => ({ name, priority })));

  it('scores, for every catalogue, each tool of either ranking by z(search) + 0.3 · z(cosine), whatever the order of registration', async () => {
    await fc.assert(
      fc.asyncProperty(
        catalogue,
        fc.array(word, { minLength: 1, maxLength: 4 }),
        async (tools, words) => {
          const text = `please ${words.join(' ')}`;
          const registry = registered(tools);
          const { ranking, degraded } = await rankHybrid(registry, text, {
            embedder: drawn(tools),
          });

          const cosine = ([x = 0, y = 0, z = 0]: readonly number[]) =>
            x === 0 && y === 0 && z === 0
              ? 0
              : Math.round((1e6 * (x + 2 * y)) / Math.sqrt(5 * (x * x + y * y + z * z)));
          const order =
            <T extends { readonly name: string; readonly priority: number }>(
              valueOf: (tool: T) => number,
            ) =>
            (a: T, b: T) =>
              valueOf(b) - valueOf(a) || a.priority - b.priority || (a.name < b.name ? -1 : 1);
          const near = tools
            .filter(({ vector }) => cosine(vector) > 0)
            .sort(order(({ vector }) => cosine(vector)))
            .map(({ name }) => name);
          const hits = new Map(
            registry.search(text, { limit: 60 }).map(({ toolName, score }) => [toolName, score]),
          );
          const candidates = [...new Set([...hits.keys(), ...near])].map((name) =>
            tools.find((tool) => tool.name === name)!,
          );
          const z = (values: readonly number[]) => {
            const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
            const deviation = Math.sqrt(
              values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length,
            );
            return values.map((value) =>
              new Set(values).size === 1 ? 0 : (value - mean) / deviation,
            );
          };
          const bySearch = z(candidates.map(({ name }) => hits.get(name) ?? 0));
          const byMeaning = z(candidates.map(({ vector }) => cosine(vector) / 1e6));
          const scored = candidates.map((tool, index) => ({
            ...tool,
            score: bySearch[index]! + 0.3 * byMeaning[index]!,
          }));
          expect(degraded).toBeUndefined();
          expect(ranking.map(({ toolName, score }) => [toolName, score])).toEqual(
            scored
              .sort(order(({ score }) => score))
              .map(({ name, score }) => [name, expect.closeTo(score, 4) as unknown]),
          );
          expect(
            await rankHybrid(registered([...tools].reverse()), text, { embedder: drawn(tools) }),
          ).toEqual({ ranking });
        },
      ),
      { numRuns: 200 },
    );
  });

  it('takes what a search hit means as it is, also where that is the opposite of the request', async () => {
    const registry = registryOf({ name: 'rain_x' }, { name: 'rain_y' }, { name: 'far' });
    const vectors: Readonly<Record<string, readonly number[]>> = {
      rain_x: [-1, 0],
      rain_y: [0, 1],
      far: [1, 1],
    };
    const { embedder } = embedderWith((texts) =>
      texts.map((text) => vectors[text.split('\n')[0]!] ?? [1, 0]),
    );
    const { ranking } = await rankHybrid(registry, 'rain', { embedder });
    expect(ranking.map(({ toolName, explanation }) => [toolName, explanation])).toEqual([
      ['rain_y', '"rain" in name'],
      ['rain_x', '"rain" in name'],
      ['far', 'similar in meaning (0.71)'],
    ]);
  });

  it('is of the best sixty of either ranking, whatever the limit', async () => {
    const registry = registryOf(
      ...Array.from({ length: 200 }, (_, index) => ({
        name: `${index < 100 ? 'rain' : 'tool'}_${index}`,
      })),
    );
    const { embedder } = embedderWith((texts) =>
      texts.map((text) => [1, Number(/\d+/.exec(text)?.[0] ?? 200) - 200]),
    );
    const { ranking } = await rankHybrid(registry, 'rain', { embedder, limit: 1_000 });
    expect(ranking).toHaveLength(120);
    expect(
      namesOf(ranking)
        .filter((name) => name.startsWith('tool_'))
        .sort(),
    ).toEqual(Array.from({ length: 60 }, (_, index) => `tool_${140 + index}`));
  });

  it.each([Float32Array, Float64Array, Int8Array] as readonly (typeof Float32Array)[])(
    'is the same when vectors come as a %o',
    async (List) => {
      const { embedder } = embedderWith((texts) =>
        texts.map((text) => List.from(meaning(text).map((value) => Math.round(value * 100)))),
      );
      expect(await rankHybrid(offices(), 'weather', { embedder })).toEqual(
        await rankHybrid(offices(), 'weather', { embedder: byMeaning().embedder }),
      );
    },
  );

  it('with a limit is, for every limit, the beginning of the ranking without', async () => {
    await fc.assert(
      fc.asyncProperty(catalogue, word, fc.nat(40), async (tools, text, limit) => {
        const [registry, embedder] = [registered(tools), drawn(tools)];
        const all = await rankHybrid(registry, text, { embedder, limit: 1_000 });
        expect((await rankHybrid(registry, text, { embedder, limit })).ranking).toEqual(
          all.ranking.slice(0, limit),
        );
      }),
      { numRuns: 100 },
    );
  });

  it('neither ranks nor embeds what the filter leaves out, given as an object or a function', async () => {
    for (const filter of [
      { name: ['rain_check', 'weather_forecast'] },
      ({ name }: { readonly name: string }) => name === 'rain_check' || name === 'weather_forecast',
    ]) {
      const { embedder, calls } = byMeaning();
      expect(
        namesOf((await rankHybrid(offices(), 'weather', { embedder, filter })).ranking),
      ).toEqual(['weather_forecast', 'rain_check']);
      expect(calls.flat()).toHaveLength(3);
    }
  });

  it('is of the tools there were when it was asked for', async () => {
    const registry = offices();
    const answer = deferred<Vectors>();
    const { embedder, calls } = embedderWith(() => answer.promise);
    const ranking = rankHybrid(registry, 'weather', { embedder });
    registry.unregister('weather_forecast');
    registry.register(sample({ name: 'rain_radar' }));
    answer.resolve(calls[0]!.map(meaning));
    expect(namesOf((await ranking).ranking)).toEqual([
      'weather_forecast',
      'rain_check',
      'umbrella_shop',
    ]);
    const { ranking: stale } = await ranking;
    expect(
      selectTools(registry, { text: 'weather', ranking: stale }).tools.map(
        ({ toolName }) => toolName,
      ),
    ).toEqual(['rain_check', 'umbrella_shop']);
  });

  it('compares vectors whose squares no number can hold, and takes nothing for similar to a vector of zeros', async () => {
    const registry = registryOf(
      { name: 'huge' },
      { name: 'tiny' },
      { name: 'zero' },
      { name: 'opposite' },
    );
    const vectors: Readonly<Record<string, readonly number[]>> = {
      huge: [1e200, 0],
      tiny: [1e-200, 1e-200],
      zero: [0, 0],
      opposite: [-1, 0],
    };
    const { embedder } = embedderWith((texts) =>
      texts.map((text) => vectors[text.split('\n')[0]!] ?? [1e300, 0]),
    );
    expect(
      (await rankHybrid(registry, 'xyz', { embedder })).ranking.map(
        ({ explanation }) => explanation,
      ),
    ).toEqual(['similar in meaning (1.00)', 'similar in meaning (0.71)']);
  });
});

describe('what the embedder is asked', () => {
  it('is everything that search reads of a tool, once, and then only the request', async () => {
    const registry = registryOf({
      name: 'git_diff',
      aliases: ['changes'],
      description: 'Shows changes',
      keywords: ['diff'],
      examples: ['what did I change?'],
      category: 'git',
      inputSchema: {
        type: 'object',
        properties: { path: { type: 'string', description: 'a file' } },
      },
    });
    const { embedder, calls } = embedderWith((texts) => texts.map(() => [1]));
    await rankHybrid(registry, 'first', { embedder });
    await rankHybrid(registry, 'second', { embedder });
    expect(calls).toEqual([
      ['first', 'git_diff, changes\ndiff\nwhat did I change?\nShows changes\ngit\npath\na file'],
      ['second'],
    ]);
  });

  it('is a tool again only when its metadata changed, also for another registry, and all of them for another embedder', async () => {
    const registry = offices();
    const [first, second] = [byMeaning(), byMeaning()];
    await rankHybrid(registry, 'weather', { embedder: first.embedder });
    registry.register(sample({ name: 'rain_check', description: 'Something else' }), {
      replace: true,
    });
    await rankHybrid(registry, 'weather', { embedder: first.embedder });
    await rankHybrid(offices(), 'weather', { embedder: first.embedder });
    await rankHybrid(offices(), 'weather', { embedder: second.embedder });
    expect(first.calls.map(({ length }) => length)).toEqual([5, 2, 1]);
    expect(second.calls.map(({ length }) => length)).toEqual([5]);
  });

  it('comes in batches of a hundred texts, one after the other', async () => {
    const registry = registryOf(
      ...Array.from({ length: 250 }, (_, index) => ({ name: `tool_${index}` })),
    );
    let open = 0;
    const { embedder, calls } = embedderWith(async (texts) => {
      expect(++open).toBe(1);
      await turn();
      open--;
      return texts.map((text) => [1, Number(/\d+/.exec(text)?.[0] ?? 0)]);
    });
    const { ranking } = await rankHybrid(registry, 'xyz', { embedder });
    expect(calls.map(({ length }) => length)).toEqual([100, 100, 51]);
    expect(namesOf(ranking).slice(0, 3)).toEqual(['tool_0', 'tool_1', 'tool_2']);
  });

  it('is no longer than what is read of a request, and has no half characters', async () => {
    const { embedder, calls } = embedderWith((texts) => texts.map(() => [1]));
    await rankHybrid(
      registryOf({ description: 'a'.repeat(60_000) }),
      `\uD800${'🔥'.repeat(500_000)}`,
      { embedder },
    );
    for (const text of calls.flat()) {
      expect(text.length).toBe(8_192);
      expect(text).not.toMatch(/\p{Surrogate}/u);
    }
  });

  it.each(['', ' \n', ' '.repeat(9_000) + 'weather'])(
    'is nothing for a request without a word',
    async (text) => {
      const { embedder, calls } = byMeaning();
      expect(await rankHybrid(offices(), text, { embedder })).toEqual({ ranking: [] });
      expect(calls).toEqual([]);
    },
  );

  it('is nothing for no tools, and for a limit of none', async () => {
    const { embedder, calls } = byMeaning();
    expect(await rankHybrid(registryOf(), 'weather', { embedder })).toEqual({ ranking: [] });
    expect(await rankHybrid(offices(), 'weather', { embedder, limit: 0 })).toEqual({ ranking: [] });
    expect(calls).toEqual([]);
  });

  it('is bounded: of more than 25,000 tools none are embedded, and as many are kept', async () => {
    const registry = registryOf(
      ...Array.from({ length: 25_000 }, (_, index) => ({ name: `tool_${index}` })),
    );
    const { embedder, calls } = embedderWith((texts) => texts.map(() => [1]));
    const asked = async (tools: ToolMetadataRegistry) => {
      const { degraded } = await rankHybrid(tools, 'xyz', { embedder, timeoutMs: 60_000 });
      return degraded?.code ?? calls.splice(0).flat().length - 1;
    };
    expect(await asked(registry)).toBe(25_000);
    expect(await asked(registry)).toBe(0);
    expect(await asked(registryOf({ name: 'another' }))).toBe(1);
    expect(await asked(registry)).toBe(1);
    registry.register(sample({ name: 'one_too_many' }));
    expect(await asked(registry)).toBe('LIMIT_EXCEEDED');
    expect(calls).toEqual([]);
  });
});

describe('an embedder that cannot be used', () => {
  const WRONG: readonly (readonly [string, string, (texts: readonly string[]) => unknown])[] = [
    [
      'throws',
      'Expected vectors from the embedder, got an error. See its cause.',
      () => {
        throw new Error('401 for key sk-123 at /home/me');
      },
    ],
    [
      'throws nothing',
      'Expected vectors from the embedder, got an error. See its cause.',
      () => {
        const nothing: unknown = undefined;
        throw nothing;
      },
    ],
    ['answers nothing', 'Expected 5 vectors from the embedder, got undefined.', () => undefined],
    [
      'answers too few',
      'Expected 5 vectors from the embedder, got a list of 4.',
      (texts) => texts.slice(1).map(meaning),
    ],
    [
      'answers too many',
      'Expected 5 vectors from the embedder, got a list of 6.',
      (texts) => [...texts, ''].map(meaning),
    ],
    [
      'answers empty vectors',
      'Expected vectors of 1 to 8192 numbers from the embedder, got a list of 0.',
      (texts) => texts.map(() => []),
    ],
    [
      'answers enormous vectors',
      'Expected vectors of 1 to 8192 numbers from the embedder, got a list of 8193.',
      (texts) => texts.map(() => Array.from({ length: 8_193 }, () => 1)),
    ],
    [
      'answers different lengths',
      'Expected vectors that all have 1 numbers from the embedder, got one of 2.',
      (texts) => texts.map((_, index) => (index === 3 ? [1, 2] : [1])),
    ],
    [
      'answers NaN',
      'Expected vectors of finite numbers from the embedder, got NaN.',
      (texts) => texts.map(() => [1, NaN]),
    ],
    [
      'answers infinity',
      'Expected vectors of finite numbers from the embedder, got Infinity.',
      (texts) => texts.map(() => [Infinity]),
    ],
    [
      'answers texts',
      'Expected vectors of finite numbers from the embedder, got "1".',
      (texts) => texts.map(() => ['1']),
    ],
    [
      'answers holes',
      'Expected vectors of finite numbers from the embedder, got undefined.',
      (texts) => texts.map((): unknown => new Array(2)),
    ],
    [
      'answers no vectors',
      'Expected vectors of 1 to 8192 numbers from the embedder, got an object.',
      (texts) => texts.map(() => ({ length: 1, 0: 1 })),
    ],
    [
      'answers bytes without a number type',
      'Expected vectors of 1 to 8192 numbers from the embedder, got an object.',
      (texts) => texts.map(() => new DataView(new ArrayBuffer(8))),
    ],
    [
      'answers big integers',
      'Expected vectors of finite numbers from the embedder, got 1n.',
      (texts) => texts.map(() => BigInt64Array.of(1n)),
    ],
    [
      'answers NaN in a typed array',
      'Expected vectors of finite numbers from the embedder, got NaN.',
      (texts) => texts.map(() => Float32Array.of(NaN)),
    ],
  ];

  it.each(WRONG)(
    'that %s leaves the registry’s own search, and the reason',
    async (_, message, answer) => {
      const registry = offices();
      for (const embed of [
        async (texts: readonly string[]) => answer(texts) as Vectors,
        answer as Embedder['embed'],
      ]) {
        const timer = handTimer();
        const { ranking, degraded } = await rankHybrid(registry, 'rain or weather', {
          embedder: { embed },
          ...timerOf(timer),
        });
        expect(ranking).toEqual(lexical(registry, 'rain or weather'));
        expect(ranking.length).toBeGreaterThan(1);
        expect([degraded?.code, degraded?.message]).toEqual(['EXECUTION_FAILED', message]);
        expect(timer.running.size).toBe(0);
        expect(
          selectTools(registry, { text: 'rain or weather', ranking }).tools.map(
            ({ toolName }) => toolName,
          ),
        ).toEqual(
          selectTools(registry, { text: 'rain or weather' }).tools.map(({ toolName }) => toolName),
        );
      }
    },
  );

  it('keeps what was thrown as the cause, for logs', async () => {
    const error = new Error('401');
    expect(
      (await rankHybrid(offices(), 'rain', { embedder: { embed: () => Promise.reject(error) } }))
        .degraded?.cause,
    ).toBe(error);
  });

  it('respects the limit', async () => {
    expect(
      (
        await rankHybrid(offices(), 'rain', {
          embedder: { embed: () => Promise.reject(new Error()) },
          limit: 1,
        })
      ).ranking,
    ).toEqual(lexical(offices(), 'rain', 1));
  });

  it('that changes its model is asked for all tools again, one call later', async () => {
    let model = [1];
    const { embedder, calls } = embedderWith((texts) => texts.map(() => model));
    await rankHybrid(offices(), 'rain', { embedder });
    model = [1, 1];
    expect((await rankHybrid(offices(), 'rain', { embedder })).degraded?.message).toBe(
      'Expected vectors of as many numbers as before (the tools will be embedded again) from the embedder, got one of 2.',
    );
    expect((await rankHybrid(offices(), 'rain', { embedder })).degraded).toBeUndefined();
    expect(calls.map(({ length }) => length)).toEqual([5, 1, 5]);
  });
});

/** Only what the library knows of a timer. */
function timerOf({ startTimer }: ReturnType<typeof handTimer>): Pick<HybridOptions, 'startTimer'> {
  return { startTimer };
}

describe('an embedder that is slow', () => {
  it('leaves the registry’s own search and the reason, hears that nobody waits, and may answer or fail later unheard', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    try {
      for (const later of ['resolve', 'reject'] as const) {
        const timer = handTimer();
        const answer = deferred<Vectors>();
        const { embedder, calls, signals } = embedderWith(() => answer.promise);
        const result = rankHybrid(offices(), 'rain or weather', {
          embedder,
          timeoutMs: 70,
          ...timerOf(timer),
        });
        expect([timer.started, signals[0]?.aborted]).toEqual([[70], false]);
        timer.runOut();
        const { ranking, degraded } = await result;
        expect(ranking).toEqual(lexical(offices(), 'rain or weather'));
        expect([degraded?.code, degraded?.message]).toEqual([
          'TIMEOUT',
          'Expected the embedder to answer within 70 ms, got nothing in time. Raise timeoutMs.',
        ]);
        expect([timer.running.size, signals[0]?.aborted]).toEqual([0, true]);
        if (later === 'resolve') answer.resolve(calls[0]!.map(meaning));
        else answer.reject(new Error('too late'));
        await turn();
        expect((await result).ranking).toBe(ranking);
      }
      await turn();
      expect(unhandled).not.toHaveBeenCalled();
    } finally {
      process.off('unhandledRejection', unhandled);
    }
  });

  it('is asked for no further batch, and the next call goes on from the batches that came in time', async () => {
    const registry = registryOf(
      ...Array.from({ length: 250 }, (_, index) => ({ name: `tool_${index}` })),
    );
    const timer = handTimer();
    const second = deferred<void>();
    const { embedder, calls } = embedderWith(async (texts) => {
      if (calls.length === 2) {
        timer.runOut();
        await second.promise;
      }
      return texts.map(() => [1]);
    });
    expect(
      (await rankHybrid(registry, 'xyz', { embedder, ...timerOf(timer) })).degraded?.code,
    ).toBe('TIMEOUT');
    second.resolve();
    await turn();
    expect(calls).toHaveLength(2);
    expect(
      (await rankHybrid(registry, 'xyz', { embedder, ...timerOf(timer) })).degraded,
    ).toBeUndefined();
    expect(calls.slice(2).flat()).toHaveLength(1 + 151);
  });

  it('is waited for by a real timer, of which none is left', async () => {
    vi.useFakeTimers();
    try {
      const slow = rankHybrid(offices(), 'rain', {
        embedder: { embed: () => new Promise(() => undefined) },
      });
      await vi.advanceTimersByTimeAsync(999);
      expect(vi.getTimerCount()).toBe(1);
      await vi.advanceTimersByTimeAsync(1);
      expect((await slow).degraded?.code).toBe('TIMEOUT');
      await rankHybrid(offices(), 'rain', { embedder: byMeaning().embedder });
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('a caller who no longer wants the ranking', () => {
  it('is told so at once, and so is the embedder', async () => {
    const timer = handTimer();
    const { embedder, signals } = embedderWith(() => new Promise(() => undefined));
    const caller = new AbortController();
    const result = codeOf(
      rankHybrid(offices(), 'rain', { embedder, signal: caller.signal, ...timerOf(timer) }),
    );
    caller.abort();
    expect(await result).toBe('ABORTED');
    expect([
      signals[0]?.aborted,
      timer.running.size,
      getEventListeners(caller.signal, 'abort').length,
    ]).toEqual([true, 0, 0]);
  });

  it('is told so before the embedder is asked, when it was clear from the start', async () => {
    const { embedder, calls } = byMeaning();
    expect(
      await codeOf(rankHybrid(offices(), 'rain', { embedder, signal: AbortSignal.abort() })),
    ).toBe('ABORTED');
    expect(calls).toEqual([]);
  });

  it('keeps no listener of it, however it ends', async () => {
    const { signal } = new AbortController();
    for (const embedder of [byMeaning().embedder, { embed: () => Promise.reject(new Error()) }])
      await rankHybrid(offices(), 'rain', { embedder, signal });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('the options', () => {
  const { embedder } = byMeaning();
  it.each([
    [{}],
    [{ embedder: {} }],
    [{ embedder: null }],
    [{ embedder, limit: -1 }],
    [{ embedder, limit: 1.5 }],
    [{ embedder, timeoutMs: NaN }],
    [{ embedder, timeoutMs: Infinity }],
    [{ embedder, timeoutMs: 2 ** 31 }],
    [{ embedder, filter: { nmae: 'x' } }],
    [{ embedder, filter: 'x' }],
    [{ embedder, signal: {} }],
    [{ embedder, startTimer: 1 }],
    [{ embedder, timeout: 5 }],
    [undefined],
  ])('are refused when one is wrong or unknown: %o', async (options) => {
    expect(await codeOf(rankHybrid(offices(), 'rain', options as HybridOptions))).toBe(
      'INVALID_ARGUMENT',
    );
  });

  it('come after a text', async () => {
    expect(await codeOf(rankHybrid(offices(), 5 as unknown as string, { embedder }))).toBe(
      'INVALID_ARGUMENT',
    );
  });
});

describe('a selection by a hybrid ranking', () => {
  it('has what only the meaning finds, and says so', async () => {
    const { ranking } = await rankHybrid(offices(), 'weather', { embedder: byMeaning().embedder });
    const { tools } = selectTools(offices(), { text: 'weather', ranking, maxTools: 2 });
    expect(tools.map(({ toolName, explanation }) => [toolName, explanation])).toEqual([
      ['weather_forecast', 'hit 1 for the request: "weather" in name; similar in meaning (1.00)'],
      ['rain_check', 'hit 2 for the request: similar in meaning (1.00)'],
    ]);
  });

  it('never has an excluded tool, whatever the ranking says', () => {
    const registry = registryOf(
      ...['a', 'b', 'c', 'd', 'e'].map((name, index) => ({
        name,
        aliases: [`other_${name}`],
        priority: index % 4,
        mandatoryKeywords: index === 2 ? ['rain'] : [],
      })),
    );
    const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'other_a', 'other_e', 'nobody');
    const ranking = fc.array(fc.record({ toolName: name, score: fc.double() }), { maxLength: 12 });
    fc.assert(
      fc.property(ranking, fc.array(name), fc.array(name), (said, exclude, include) => {
        const forbidden = exclude.map((each) => registry.get(each)?.name);
        const selection = selectTools(registry, {
          text: 'rain',
          ranking: said.filter(({ score }) => Number.isFinite(score)),
          exclude,
          include,
        });
        for (const { toolName } of selection.tools) expect(forbidden).not.toContain(toolName);
      }),
    );
  });

  it('has no tool above a limit, although it was ranked first', async () => {
    const registry = registryOf(
      { name: 'weather_forecast', dangerLevel: 'critical' },
      { name: 'rain_check', dangerLevel: 'safe' },
    );
    const { ranking } = await rankHybrid(registry, 'weather', { embedder: byMeaning().embedder });
    expect(namesOf(ranking)).toEqual(['weather_forecast', 'rain_check']);
    expect(
      selectTools(registry, { text: 'weather', ranking, maxDanger: 'low' }).tools.map(
        ({ toolName }) => toolName,
      ),
    ).toEqual(['rain_check']);
  });
});

describe('a model of the AI SDK', () => {
  const model = (doEmbed: MockEmbeddingModelV3['doEmbed']) =>
    new MockEmbeddingModelV3({ maxEmbeddingsPerCall: 2, supportsParallelCalls: true, doEmbed });

  it('is an embedder through embedMany: its vectors come in the order of the texts, however it splits them', async () => {
    const asked = model(async ({ values }) => ({
      embeddings: values.map((value) => [...meaning(value)]),
      warnings: [],
    }));
    expect(
      await rankHybrid(offices(), 'weather', { embedder: embedderOf(embedMany, asked) }),
    ).toEqual(await rankHybrid(offices(), 'weather', { embedder: byMeaning().embedder }));
    expect(asked.doEmbedCalls.map(({ values }) => values.length)).toEqual([2, 2, 1]);
    expect(asked.doEmbedCalls[0]?.values[0]).toBe('weather');
  });

  it('gets the signal, and gives up with the deadline', async () => {
    const timer = handTimer();
    const asked = model(
      ({ abortSignal }) =>
        new Promise((_resolve, reject) => {
          abortSignal!.addEventListener('abort', () => reject(abortSignal!.reason as Error));
          timer.runOut();
        }),
    );
    expect(
      (
        await rankHybrid(offices(), 'rain', {
          embedder: embedderOf(embedMany, asked),
          ...timerOf(timer),
        })
      ).degraded?.code,
    ).toBe('TIMEOUT');
    expect(asked.doEmbedCalls.every(({ abortSignal }) => abortSignal?.aborted)).toBe(true);
  });

  it('that fails leaves the registry’s own search, and what it said as the cause', async () => {
    const error = new Error('no such model');
    const { ranking, degraded } = await rankHybrid(offices(), 'rain', {
      embedder: embedderOf(
        embedMany,
        model(() => Promise.reject(error)),
      ),
    });
    expect(ranking).toEqual(lexical(offices(), 'rain'));
    expect([degraded?.code, degraded?.cause]).toEqual(['EXECUTION_FAILED', error]);
  });

  it('may be used without a signal, and given by its name', async () => {
    const seen: unknown[] = [];
    const embedder = embedderOf(
      async (options: { model: string; values: string[]; abortSignal?: AbortSignal }) => ({
        embeddings: (seen.push(options), [[1]]),
      }),
      'small',
    );
    expect(await embedder.embed(['a'])).toEqual([[1]]);
    expect(seen).toEqual([{ model: 'small', values: ['a'] }]);
    // With the real function, a name is as good as a model.
    expect(typeof embedderOf(embedMany, 'openai/text-embedding-3-small').embed).toBe('function');
  });
});
