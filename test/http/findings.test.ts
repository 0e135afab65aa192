import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CapabilityRegistry } from '../../src/capability.js';
import { createDiscoveryApp, type DiscoveryOptions } from '../../src/http.js';
import { ManifestTree, toolEntry } from '../capability/manifest-tree.js';
import { sample, type Json } from './catalogue-fixture.js';
import { definitionOf } from '../../src/tool/tool-definition.js';
import { propertyRuns } from '../property-runs.js';

type Findings = Json & {
  readonly revision: number;
  readonly severities: Readonly<Record<string, number>>;
};

/** Returns tools made from one template, which have many lint findings. */
const manyTools = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    toolEntry(`copy_${index}`, {
      side_effects: 'network',
      description: `Reads the record number ${index} of the customer database`,
    }),
  );
const tree = () =>
  new ManifestTree({
    'functions.json': [
      ...manyTools(80),
      ...Array.from({ length: 5 }, (_, index) => ({
        ...toolEntry(`broken_${index}`),
        side_effects: 'logging',
      })),
    ],
    'personas/Atlas/functions.json': [
      ...manyTools(10),
      { ...toolEntry('x'.repeat(3_000)), side_effects: 7 },
    ],
    'personas/Nova/functions.json': '{',
  });

async function pagesOf(
  json: (path: string) => Promise<Json>,
  first: string,
): Promise<readonly Findings[]> {
  const pages: Findings[] = [];
  for (let path: string | null = first; path !== null; path = pages.at(-1)!.next)
    pages.push((await json(path)) as Findings);
  return pages;
}

const told = (pages: readonly Findings[]) =>
  pages.flatMap(({ findings }) => findings.map((finding) => JSON.stringify(finding)));

describe('GET /findings', () => {
  it('returns 50 findings per page by default, at most 200, and the total', async () => {
    const { get, json } = await sample({}, tree());
    const page = (await json('/findings')) as Findings;
    expect([page.findings.length, page.count, page.total > 100]).toEqual([50, 50, true]);
    expect(page.next).toMatch(/^\/findings\?offset=50$/);
    expect(((await json('/findings?limit=200')) as Findings).findings.length).toBeLessThanOrEqual(
      200,
    );
    for (const query of ['limit=201', 'limit=0', 'cursor=5', 'offset=x'])
      expect((await get(`/findings?${query}`)).status, query).toBe(400);
  });

  it('lists every finding on exactly one page, worst first, for any page size', async () => {
    const { json } = await sample({}, tree());
    const whole = told(await pagesOf(json, '/findings?limit=200'));
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 60 }),
        fc.constantFrom('', '&persona=Atlas', '&persona=-shared'),
        async (limit, persona) => {
          const pages = await pagesOf(json, `/findings?limit=${limit}${persona}`);
          const items = pages.flatMap(({ findings }) => findings);
          for (const { findings, count, total } of pages)
            expect([findings.length <= limit, count, total]).toEqual([
              true,
              findings.length,
              items.length,
            ]);
          expect(new Set(told(pages)).size).toBe(items.length);
          if (persona === '') expect(told(pages)).toEqual(whole);
          const levels = items.map(({ severity }) => severity as string);
          expect(levels).toEqual([...levels].sort());
          expect(pages[0]!.severities).toEqual({
            error: levels.filter((level) => level === 'error').length,
            warning: levels.filter((level) => level === 'warning').length,
          });
        },
      ),
      { numRuns: propertyRuns(15) },
    );
  });

  it('refers to manifest keys in findings about manifests, and to options in findings about code', async () => {
    const root = new ManifestTree({
      'functions.json': [toolEntry('alpha', { side_effects: 'network' })],
    }).root;
    const coded = definitionOf({
      name: 'coded',
      description: 'Is written in code',
      inputSchema: { type: 'object' },
    });
    const app = createDiscoveryApp(await CapabilityRegistry.load({ root, tools: [coded] }), {
      page: false,
    });
    const { findings } = (await (await app.request('/findings')).json()) as Findings;
    const missing = (tool: string) =>
      findings.find(({ name, rule }) => name === tool && rule === 'inferred-safety')?.['message'];
    expect(missing('alpha')).toContain('declare access_mode');
    expect(missing('coded')).toContain('declare accessMode');
  });

  it('leaves out rules that are turned off, and reports the findings of other rules with their configured severity', async () => {
    const root = new ManifestTree({
      'functions.json': [toolEntry('alpha', { side_effects: 'network', keywords: ['?!'] })],
    }).root;
    const capabilities = await CapabilityRegistry.load({ root });
    const shown = async (lintRules?: DiscoveryOptions['lintRules']) => {
      const { findings, severities } = (await (
        await createDiscoveryApp(capabilities, lintRules && { lintRules }).request('/findings')
      ).json()) as Findings;
      return [
        findings
          .filter(({ rule }) => ['inferred-safety', 'unmatchable-keyword'].includes(rule as string))
          .map(({ severity, rule }) => `${String(severity)} ${String(rule)}`),
        severities['error'],
      ];
    };
    expect(await shown()).toEqual([['error unmatchable-keyword', 'warning inferred-safety'], 1]);
    expect(await shown({ 'unmatchable-keyword': 'off', 'inferred-safety': 'error' })).toEqual([
      ['error inferred-safety'],
      1,
    ]);
    expect(() =>
      createDiscoveryApp(capabilities, { lintRules: { 'infered-safety': 'off' } as object }),
    ).toThrow('Did you mean "inferred-safety"?');
  });
});
