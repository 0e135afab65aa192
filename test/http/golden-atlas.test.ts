import { describe, expect, it } from 'vitest';
import { CapabilityRegistry } from '../../src/capability.js';
import { createDiscoveryApp } from '../../src/http.js';
import { golden, ManifestTree, present, warnIfAbsent } from '../capability/manifest-tree.js';
import { names, type Json } from './catalogue-fixture.js';

warnIfAbsent('the recorded routes');

interface Recorded {
  readonly query: Readonly<Record<string, string | readonly string[]>>;
  readonly output: readonly string[];
}

type RecordedTool = Readonly<Record<string, unknown>> & {
  readonly health: {
    readonly tool: { readonly p95_latency_ms: number };
    readonly providers: object;
  };
};

const ALL = [
  'only_shared@shared',
  'restricted@shared',
  'sum_tool@shared',
  'atlas_only@Atlas',
  'sum_tool@Atlas',
  'nova_only@Nova',
];

/**
 * Queries whose answer differs from the recorded answer on purpose, with the names of the returned tools
 * or status 400.
 */
const DIFFERENT: Readonly<Record<string, readonly string[] | 400>> = {
  // The recorded system read 80 as 80 % and 1.5 as 1.5 %. Values above 1 are refused here, because they may be
  // mistakes.
  'min_success_rate=80': 400,
  // The recorded system silently ignored a filter that wasn't a number.
  'min_success_rate=abc': 400,
  // The recorded system gave tools without calls a success rate of 0 and hid them. Here, their rate is unknown.
  'min_success_rate=0.75': ALL.filter((tool) => tool !== 'sum_tool@Atlas'),
  // The recorded system turned a list of versions into text, which matched no version.
  'version=<2&version=>=1': [
    'restricted@shared',
    'sum_tool@shared',
    'atlas_only@Atlas',
    'nova_only@Nova',
  ],
  // The recorded system read a comma between personas as part of a name.
  'persona=atlas,-shared': ['atlas_only@Atlas', 'sum_tool@Atlas'],
};

describe.runIf(present)('GET /tools with the recorded manifests', () => {
  const { files } = present
    ? golden<{ readonly files: Readonly<Record<string, unknown>> }>('registry_fixture')
    : { files: {} };
  const { cases, example_full: example } = present
    ? golden<{
        readonly cases: readonly Recorded[];
        readonly example_full: { readonly output: RecordedTool };
      }>('routes_get_tools')
    : { cases: [], example_full: { output: {} as RecordedTool } };

  async function recordedApp() {
    const capabilities = await CapabilityRegistry.load({
      root: new ManifestTree(files).root,
      env: {},
    });
    [false, true, true, true].forEach((success, index) =>
      capabilities.recordTool('sum_tool', { success, latencyMs: 100 + index }),
    );
    capabilities.recordTool('sum_tool', { success: false, latencyMs: 9 }, { persona: 'Atlas' });
    return createDiscoveryApp(capabilities, { page: false });
  }

  it.each(
    cases.map(
      (recorded) =>
        [
          Object.entries(recorded.query)
            .flatMap(([name, value]) => [value].flat().map((each) => `${name}=${each}`))
            .join('&'),
          recorded,
        ] as const,
    ),
  )('answers %s as recorded, except for known differences', async (title, { query, output }) => {
    const parameters = Object.entries(query).flatMap(([name, value]) =>
      [value].flat().map((each): [string, string] => [name, each]),
    );
    const response = await (
      await recordedApp()
    ).request(`/tools?${new URLSearchParams(parameters).toString()}`);
    const expected = DIFFERENT[title] ?? output;
    if (expected === 400) expect(response.status).toBe(400);
    else expect(names((await response.json()) as Json)).toEqual(expected);
  });

  it('returns every recorded field with its recorded value, except for intentional differences', async () => {
    const { tools } = (await (
      await (await recordedApp()).request('/tools?name=sum_tool&persona=shared')
    ).json()) as Json;
    const tool = tools[0]!;
    const recorded = example.output;
    const same = [
      'name',
      'persona',
      'description',
      'version',
      'allow_parallel',
      'idempotency_key',
      'default_timeout',
      'side_effects',
      'cost_per_call',
      'cost_unit',
    ];
    for (const field of same) expect(tool[field], field).toEqual(recorded[field]);
    // `settings` and `credentials` revealed the configuration. `auth_required` is now in `auth`.
    expect(
      Object.keys(recorded)
        .filter((field) => !(field in tool))
        .sort(),
    ).toEqual(['auth_required', 'credentials', 'settings']);
    // The recorded system kept duplicates and the case in "normalized" tags, and duplicate scopes.
    expect(tool.capability_tags).toEqual(['search', 'math']);
    expect(tool.auth_scopes).toEqual(['r', 'w']);
    // A missing declaration was `null` in the recorded system and is `false` here. A missing allowlist is
    // `null` here, because an empty list allows nobody.
    expect([tool.requires_consent, tool.persona_allowlist]).toEqual([false, null]);
    expect(tool.health.tool).toMatchObject({
      total: 4,
      success: 3,
      failure: 1,
      success_rate: 0.75,
      average_latency_ms: 101.5,
    });
    expect(tool.health.tool.p95_latency_ms).toBeCloseTo(recorded.health.tool.p95_latency_ms, 6);
    expect(Object.keys(tool.health.providers)).toEqual(Object.keys(recorded.health.providers));
  });
});
