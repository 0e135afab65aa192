import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { TOOL_FIELDS } from '../../src/tool/tool-fields.js';
import { FacetCounter } from '../../src/http/page/facet-counter.js';
import { AXES as FACET_AXES } from '../../src/http/facets.js';
import { valuesOn } from '../../src/http/values-on.js';

type FacetAxis = (typeof FACET_AXES)[number];
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
  const context = await browser.newContext({ viewport: { width: 1360, height: 850 }, ...options });
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
    if (list === 'search') return send(response, this.#search(searchParams));
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
    const items = new Map<string, readonly Item[]>(
      Object.entries({
        tools: this.content.tools,
        skills: this.content.skills,
        jobs: this.content.jobs,
        findings: this.content.findings,
      }),
    ).get(list);
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
      total: items.length,
      revision: this.#revision,
      next: end < items.length ? `/${list}?${searchParams.toString()}` : null,
      [list]: items.slice(start, end),
    });
  }

  /** Whole words in names and descriptions: enough to have something to show. Filters and counts are those of the server. */
  #search(parameters: URLSearchParams): Item {
    const words = parameters.get('q')!.toLowerCase().split(/\W+/);
    const persona = parameters.get('persona');
    const isOwn = (tool: Item) => tool['persona'] !== null && tool['persona'] === persona;
    const searched = this.content.tools.filter(
      (tool) =>
        persona === null ||
        isOwn(tool) ||
        (tool['persona'] === null &&
          !this.content.tools.some((other) => isOwn(other) && other['name'] === tool['name'])),
    );
    const counter = new FacetCounter(FACET_AXES);
    const valuesOf = (tool: Item, { key, field }: FacetAxis) =>
      key === 'health' ? ['no calls'] : valuesOn(tool[TOOL_FIELDS[field].wire]);
    const results = searched.flatMap((tool) => {
      const matches = words.flatMap((word) => {
        const fields = ['name', 'description'].filter((field) =>
          String(tool[field])
            .toLowerCase()
            .split(/[\W_]+/)
            .includes(word),
        );
        return fields.length === 0 ? [] : [{ word, fields, related: false }];
      });
      const failing = FACET_AXES.filter(
        (axis) =>
          parameters.has(axis.key) &&
          !parameters.getAll(axis.key).some((value) => valuesOf(tool, axis).includes(value)),
      );
      return matches.length > 0 && counter.add(failing, (axis) => valuesOf(tool, axis))
        ? [
            {
              name: tool['name'],
              persona: tool['persona'],
              score: matches.length * 3.5,
              matches,
              corrections: [],
            },
          ]
        : [];
    });
    const facets = Object.fromEntries(
      FACET_AXES.map((axis) => [axis.key, Object.fromEntries(counter.of(axis))]),
    );
    return {
      results: results.slice(0, Number(parameters.get('limit'))),
      total: results.length,
      searched: searched.length,
      facets,
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
