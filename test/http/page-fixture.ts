import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { PAGE_FILES } from '../../src/http/page-files.js';
import { DEADLINE_MS } from '../programs.js';

/** The content security policy that the page is designed for. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome'];
const executablePath = BROWSERS.flatMap((name) => {
  const { status, stdout } = spawnSync('which', [name], { encoding: 'utf8' });
  return status === 0 ? [stdout.trim()] : [];
})[0];

/** True if a browser is available. */
export const browserPresent = executablePath !== undefined;

/** Prints once that the tests of a file don't run. */
export function warnIfNoBrowser(what: string): void {
  if (!browserPresent)
    console.warn(`${what}: skipped, none of ${BROWSERS.join(', ')} is installed`);
}

export function openBrowser(): Promise<Browser> {
  // Without the sandbox, because test machines run as root and in containers. The browser opens only
  // pages of these tests.
  return chromium.launch({
    executablePath: executablePath!,
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
}

/**
 * Starts a browser for the tests of a `describe`. After each test, its pages are closed, and the test
 * fails if a page had an error, refused content, a request to another site, or a dialog.
 */
export function useBrowser(): {
  readonly open: (url: string, options?: BrowserContextOptions) => Promise<Page>;
  /** Closes the pages without checking for errors in them. */
  readonly leave: () => Promise<void>;
} {
  let browser: Browser;
  const opened: WatchedPage[] = [];
  beforeAll(async () => {
    browser = await openBrowser();
  });
  const leave = async () => {
    for (const { page } of opened.splice(0)) await page.context().close();
  };
  afterEach(async () => {
    const complaints = opened.flatMap((each) => each.complaints);
    await leave();
    expect(complaints).toEqual([]);
  });
  afterAll(() => browser.close());
  return {
    leave,
    open: async (url, options) => {
      const watched = await openPage(browser, url, options);
      opened.push(watched);
      return watched.page;
    },
  };
}

interface WatchedPage {
  readonly page: Page;
  readonly complaints: string[];
}

async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  // Without transitions, colors don't depend on when they're read.
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

/** The answers of a catalogue server. A test can replace all of them while the server is running. */
export interface Content {
  tools: readonly Item[];
  skills: readonly Item[];
  jobs: readonly Item[];
  findings: readonly Item[];
  personas: readonly string[];
}

/**
 * A server that answers like the real server, with any content that a test needs. It doesn't apply
 * filters.
 */
export class FakeCatalogue {
  readonly content: Content;
  readonly #token: string | undefined;
  readonly #server: Server;
  readonly #files = new Map(PAGE_FILES.map((file) => [file.path, file]));

  private constructor(content: Content, token: string | undefined) {
    this.content = content;
    this.#token = token;
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  static async start(content: Partial<Content> = {}, token?: string): Promise<FakeCatalogue> {
    const nothing = { tools: [], skills: [], jobs: [], findings: [], personas: [] };
    const fake = new FakeCatalogue({ ...nothing, ...content }, token);
    fake.#server.listen(0, '127.0.0.1');
    await once(fake.#server, 'listening');
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** If true, the server cuts every connection, as if it were down. */
  isDown = false;

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url!, this.url);
    if (this.isDown) return void response.destroy();
    response.setHeader('content-security-policy', PAGE_POLICY);
    response.setHeader('x-content-type-options', 'nosniff');
    const file = this.#files.get(pathname);
    if (file !== undefined)
      return void response.setHeader('content-type', file.type).end(file.body);
    if (this.#token !== undefined && request.headers.authorization !== `Bearer ${this.#token}`)
      return send(response, { error: { code: 'UNAUTHORIZED', message: 'Expected a token.' } }, 401);
    const [, list = '', name] = pathname.split('/');
    const { personas, ...rest } = this.content;
    if (list === 'health') return send(response, { revision: 1, personas });
    if (!Object.hasOwn({ ...rest, tasks: [] }, list)) return send(response, {}, 404);

    const lists: Readonly<Record<string, readonly Item[]>> = { ...rest, tasks: [] };
    const items = lists[list]!;
    if (name !== undefined) {
      const tool = items.find((each) => each['name'] === decodeURIComponent(name));
      return tool === undefined
        ? send(response, { error: { code: 'TOOL_NOT_FOUND', message: `Got "${name}"` } }, 404)
        : send(response, tool);
    }
    const word = searchParams.get('q');
    const found = { score: 1, explanation: `"${word}" in name` };
    const shown = word === null ? items : items.map((item) => ({ ...item, ...found }));
    send(response, {
      total: items.length,
      searched: items.length,
      facets: {},
      cells: {},
      revision: 1,
      next: null,
      [list]: shown,
    });
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

/** Returns a tool as sent by the server, harmless by default. */
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
    derived_sets: ['idempotent'],
    shown_to_models: [],
    ...changes,
  };
}
