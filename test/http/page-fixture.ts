import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { TOOL_FIELDS } from '../../src/tool/tool-fields.js';
import { AXES } from '../../src/http/facets.js';
import { valuesOn } from '../../src/http/values-on.js';

type Axis = (typeof AXES)[number];
import { PAGE_FILES } from '../../src/http/page-files.js';
import { DEADLINE_MS } from '../programs.js';

/** The policy that the page is made for. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome'];
const executablePath = BROWSERS.flatMap((name) => {
  const { status, stdout } = spawnSync('which', [name], { encoding: 'utf8' });
  return status === 0 ? [stdout.trim()] : [];
})[0];

/** Whether there is a browser to look with. */
export const browserPresent = executablePath !== undefined;

/** Says once that the tests of a file do not run. */
export function warnIfNoBrowser(what: string): void {
  if (!browserPresent)
    console.warn(`${what}: skipped, none of ${BROWSERS.join(', ')} is installed`);
}

export function openBrowser(): Promise<Browser> {
  // Without its sandbox: test machines run as root and in containers, and it only opens pages of these tests.
  return chromium.launch({
    executablePath: executablePath!,
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
}

/** A page in a context of its own, and everything that must never happen on it. */
export interface WatchedPage {
  readonly page: Page;
  /** Errors, refused content, requests to elsewhere, dialogs. */
  readonly complaints: string[];
}

export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  // Without transitions, colours don't depend on when they are read.
  const context = await browser.newContext({
    viewport: { width: 1360, height: 850 },
    reducedMotion: 'reduce',
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(DEADLINE_MS);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of 40[14]/.test(message.text()))
      complaints.push(`console: ${message.text()}`);
  });
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(url).origin)
      complaints.push(`request: ${request.url()}`);
  });
  await page.addInitScript(
    "document.addEventListener('securitypolicyviolation', (event) => console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI))",
  );
  await page.goto(url);
  return { page, complaints };
}

type Item = Readonly<Record<string, unknown>>;

/** What a catalogue's server says; all of it may be replaced while it runs. */
export interface Content {
  tools: readonly Item[];
  skills: readonly Item[];
  jobs: readonly Item[];
  findings: readonly Item[];
  token?: string;
}

/** A server that speaks as the real one, with whatever content a test needs. */
export class FakeCatalogue {
  readonly content: Content;
  readonly #server: Server;
  readonly #listeners = new Set<ServerResponse>();
  readonly #files = new Map(PAGE_FILES.map((file) => [file.path, file]));
  #revision = 1;

  private constructor(content: Content) {
    this.content = content;
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  static async start(content: Partial<Content> = {}): Promise<FakeCatalogue> {
    const fake = new FakeCatalogue({ tools: [], skills: [], jobs: [], findings: [], ...content });
    fake.#server.listen(0, '127.0.0.1');
    await once(fake.#server, 'listening');
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** Replaces content and tells everybody who listens. */
  change(content: Partial<Content>): void {
    Object.assign(this.content, content);
    this.#revision += 1;
    for (const listener of this.#listeners)
      listener.write(`event: change\ndata: {"revision":${this.#revision}}\n\n`);
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  /** Breaks every stream of changes, as a restart does. */
  dropListeners(): void {
    for (const listener of this.#listeners) listener.destroy();
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url!, this.url);
    response.setHeader('content-security-policy', PAGE_POLICY);
    response.setHeader('x-content-type-options', 'nosniff');
    const file = this.#files.get(pathname);
    if (file !== undefined)
      return void response.setHeader('content-type', file.type).end(file.body);
    if (
      this.content.token !== undefined &&
      request.headers.authorization !== `Bearer ${this.content.token}`
    )
      return send(response, { error: { code: 'UNAUTHORIZED', message: 'Expected a token.' } }, 401);
    if (pathname === '/events') {
      response
        .setHeader('content-type', 'text/event-stream')
        .write(`event: ready\ndata: {"revision":${this.#revision}}\n\n`);
      this.#listeners.add(response);
      return void response.on('close', () => this.#listeners.delete(response));
    }
    const [, list = '', name] = pathname.split('/');
    const persona = searchParams.get('persona');
    if (list === 'health') {
      const owners = Object.values(this.content)
        .flat()
        .flatMap((item) =>
          typeof item === 'string'
            ? []
            : ([item['persona'], item['personas'], item['persona_allowlist']].flat() as unknown[]),
        );
      const personas = new Set(owners.filter((owner) => typeof owner === 'string'));
      return send(response, { personas: [...personas].sort() });
    }
    if (list === 'tools' && name !== undefined) {
      const tool = this.content.tools.find(
        (each) =>
          each['name'] === decodeURIComponent(name) &&
          each['persona'] === searchParams.get('persona'),
      );
      return tool === undefined
        ? send(
            response,
            {
              error: {
                code: 'TOOL_NOT_FOUND',
                message: `Expected the name of a tool, got "${name}"`,
              },
            },
            404,
          )
        : send(response, tool);
    }
    const found = list === 'tools' ? this.#tools(searchParams) : undefined;
    const mayUse = ({ persona: owner, personas }: Item) =>
      persona === null ||
      ((owner === null || owner === persona) &&
        (!Array.isArray(personas) || personas.includes(persona)));
    const lists: Readonly<Record<string, readonly Item[]>> = {
      tools: found?.items ?? [],
      skills: this.content.skills.filter(mayUse),
      tasks: [],
      jobs: this.content.jobs.filter(mayUse),
      findings: this.content.findings,
    };
    const items = Object.hasOwn(lists, list) ? lists[list] : undefined;
    if (items === undefined)
      return send(
        response,
        { error: { code: 'NOT_FOUND', message: 'There is nothing here.' } },
        404,
      );
    const start = Number(searchParams.get('cursor') ?? 0);
    const end = start + Number(searchParams.get('limit'));
    searchParams.set('cursor', String(end));
    const severities = Object.fromEntries(
      ['error', 'warning'].map((severity) => [
        severity,
        items.filter((item) => item['severity'] === severity).length,
      ]),
    );
    send(response, {
      ...(list === 'findings' && { severities }),
      ...found?.facts,
      total: items.length,
      revision: this.#revision,
      next:
        end < items.length && !searchParams.has('q') ? `/${list}?${searchParams.toString()}` : null,
      [list]: items.slice(start, end),
    });
  }

  /** Whole words in names and descriptions: enough to have something to show. Filters and counts are those of the server. */
  #tools(parameters: URLSearchParams): { readonly items: readonly Item[]; readonly facts: Item } {
    const words = parameters.get('q')?.toLowerCase().split(/\W+/);
    const persona = parameters.get('persona');
    const isOwn = (tool: Item) => tool['persona'] !== null && tool['persona'] === persona;
    const searched = this.content.tools.filter((tool) => {
      if (persona === null || isOwn(tool)) return true;
      const allowlist = tool['persona_allowlist'] as readonly string[] | null;
      return (
        tool['persona'] === null &&
        (allowlist?.includes(persona) ?? true) &&
        !this.content.tools.some((other) => isOwn(other) && other['name'] === tool['name'])
      );
    });
    const found = searched.flatMap((tool) => {
      if (words === undefined) return [tool];
      const matches = words.flatMap((word) => {
        const fields = ['name', 'description'].filter((field) =>
          String(tool[field])
            .toLowerCase()
            .split(/[\W_]+/)
            .includes(word),
        );
        return fields.length === 0 ? [] : [{ word, fields, related: false }];
      });
      return matches.length === 0
        ? []
        : [{ ...tool, score: matches.length * 3.5, matches, corrections: [] }];
    });
    const valuesOf = (tool: Item, { key, field }: Axis) =>
      key === 'health' ? ['no calls'] : valuesOn(tool[TOOL_FIELDS[field].wire]);
    const passing = (...without: readonly string[]) =>
      found.filter((tool) =>
        AXES.every((axis) => {
          const chosen = without.includes(axis.key) ? [] : parameters.getAll(axis.key);
          const has = (value: string) => valuesOf(tool, axis).includes(value);
          return chosen.length === 0 || (axis.all ? chosen.every(has) : chosen.some(has));
        }),
      );
    const counted = (values: readonly string[]) => {
      const counts = new Map<string, number>();
      for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
      return Object.fromEntries(counts);
    };
    const facets = AXES.map((axis) => [
      axis.key,
      counted(passing(...(axis.all ? [] : [axis.key])).flatMap((tool) => valuesOf(tool, axis))),
    ]);
    const cells = counted(
      passing('access_mode', 'danger_level').map(
        (tool) => `${String(tool['access_mode'])} ${String(tool['danger_level'])}`,
      ),
    );
    return {
      items: passing(),
      facts: { searched: searched.length, facets: Object.fromEntries(facets) as object, cells },
    };
  }
}

function send(response: ServerResponse, body: unknown, status = 200): void {
  response
    .writeHead(status, {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'private, no-cache',
    })
    .end(JSON.stringify(body));
}

const NO_CALLS = {
  total: 0,
  success: 0,
  failure: 0,
  success_rate: null,
  average_latency_ms: null,
  p95_latency_ms: null,
  last_sample_at: null,
  abandoned: 0,
};

/** A tool as the wire has it; harmless unless told otherwise. */
export function wireTool(name: string, changes: Item = {}): Item {
  return {
    name,
    persona: null,
    description: `Does ${name}.`,
    version: '1.0.0',
    capability_tags: [],
    auth_scopes: [],
    auth_status: { required: false, ready: true, missing: [] },
    safety_level: 'low',
    side_effects: 'none',
    persona_allowlist: null,
    providers: [],
    health: { tool: NO_CALLS, providers: {}, last_invocation: null, last_success_provider: null },
    priority: 'medium',
    access_mode: 'readonly',
    danger_level: 'safe',
    execution_category: 'read_only',
    cost_tier: 'free',
    category: null,
    keywords: [],
    stages: [],
    task_types: [],
    available: true,
    requires_approval: false,
    inferred: [],
    source: 'functions.json',
    digest: 'sha256:0123456789abcdef',
    allow_parallel: true,
    idempotency_key: false,
    default_timeout: 30,
    cost_per_call: null,
    cost_unit: null,
    parameters: { type: 'object', properties: {} },
    examples: [],
    aliases: [],
    ...changes,
  };
}
