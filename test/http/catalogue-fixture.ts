import { CapabilityRegistry } from '../../src/capability.js';
import { createDiscoveryApp, type DiscoveryOptions } from '../../src/http.js';
import { jobEntry, ManifestTree, skillEntry, toolEntry } from '../capability/manifest-tree.js';

/** A small catalogue in which every filter matches some tools and excludes others. */
export function sampleTree(): ManifestTree {
  return new ManifestTree({
    'functions.json': [
      toolEntry('alpha', {
        version: '1.2.0',
        capabilities: [' Search', 'search', 'math '],
        providers: [
          { name: 'Primary', priority: 0, config: { model: 'm' } },
          { name: 'backup', priority: 5 },
        ],
        auth: {
          required: true,
          type: 'oauth2',
          scopes: ['r', 'w', 'r'],
          envs: { ALPHA_KEY: { required: true } },
        },
        keywords: ['revenue'],
        stages: ['planning'],
        task_types: ['reporting'],
        priority: 'high',
        category: 'finance',
        examples: ['what did we earn'],
        aliases: ['first'],
        cost_tier: 'medium',
        default_timeout: 30,
      }),
      toolEntry('beta', {
        version: '0.9',
        side_effects: 'write',
        danger_level: 'medium',
        cost_tier: 'high',
        requires_consent: true,
      }),
      toolEntry('gam.ma', {
        side_effects: 'system',
        access_mode: 'execute',
        danger_level: 'critical',
        cost_tier: 'free',
        safety_level: 'high',
        metadata: { team: 'billing', floor: 3 },
      }),
    ],
    'personas/Atlas/functions.json': [
      toolEntry('alpha', { version: '2.0.0', providers: [{ name: 'primary' }] }),
      toolEntry('only_atlas', { capabilities: ['search'] }),
    ],
    'personas/Nova/functions.json': [toolEntry('only_nova')],
    'skills.json': [
      skillEntry('Sum', {
        required_tools: ['alpha'],
        capability_tags: ['sums'],
        required_capabilities: ['counting'],
      }),
      skillEntry('Odd', { required_tools: ['nowhere'] }),
    ],
    'jobs.json': [
      jobEntry('Daily', { required_skills: ['Sum'], required_tools: ['alpha'] }),
      jobEntry('Nightly', { personas: ['Nova'] }),
    ],
  });
}

export interface Sample {
  readonly tree: ManifestTree;
  readonly capabilities: CapabilityRegistry;
  readonly get: (path: string, headers?: Readonly<Record<string, string>>) => Promise<Response>;
  readonly json: (path: string) => Promise<Json>;
}

/** A tool, skill, job, hit, or finding in an answer. */
export interface Item {
  readonly name: string;
  readonly persona: string | null;
  readonly [field: string]: unknown;
}

/** An answer's JSON, with the fields that tests read. Each answer has some of these fields. */
export interface Json {
  readonly name: string;
  readonly version: string;
  readonly count: number;
  readonly total: number;
  readonly next: string | null;
  readonly tools: readonly (Item & {
    readonly digest: string;
    readonly health: {
      readonly tool: Readonly<Record<string, number | null>>;
      readonly providers: object;
    };
  })[];
  readonly skills: readonly Item[];
  readonly jobs: readonly Item[];
  readonly results: readonly (Item & { readonly score: number })[];
  readonly findings: readonly (Item & {
    readonly rule: string | null;
    readonly kind: string | null;
  })[];
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly expected: string;
    readonly found: string;
  };
  readonly openapi: string;
  readonly paths: Readonly<
    Record<
      string,
      {
        readonly get: {
          readonly parameters: readonly { readonly name: string; readonly schema: object }[];
        };
      }
    >
  >;
}

export async function sample(
  options: DiscoveryOptions = {},
  tree = sampleTree(),
  env: Readonly<Record<string, string>> = {},
): Promise<Sample> {
  const capabilities = await CapabilityRegistry.load({ root: tree.root, env });
  const app = createDiscoveryApp(capabilities, { page: false, ...options });
  const get = async (path: string, headers: Readonly<Record<string, string>> = {}) =>
    app.request(path, { headers });
  return {
    tree,
    capabilities,
    get,
    json: async (path) => (await (await get(path)).json()) as Json,
  };
}

/** Returns `name@owner` for each tool in an answer. */
export function names({ tools }: Pick<Json, 'tools'>): readonly string[] {
  return tools.map((tool) => `${tool.name}@${tool.persona ?? 'shared'}`);
}
