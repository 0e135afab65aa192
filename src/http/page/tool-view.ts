import type { MetricsWire, ProviderHealthWire, SampleWire } from '../../capability/wire-types.js';
import { flagWords } from '../../safety/required-flags.js';
import { fieldsOn } from '../../tool/tool-fields.js';
import { valuesOn } from '../values-on.js';
import type { DetailedTool } from './wire.js';
import { Latest, type Api } from './api.js';
import { button, element, foldedText, replaceContent, svgElement, type Child } from './element.js';
import { factMarks, healthWords, milliseconds, noticeMarks } from './marks.js';
import type { Route } from './route.js';
import { keyOfTool } from './rows.js';
import { schemaRows, type SchemaRow } from './schema-rows.js';

/** The interval at which a visible open tool is requested again: its health changes without the catalogue changing. */
const REFRESH_MS = 10_000;

/** The panel with the tool that is open. */
export class OpenTool {
  readonly #panel: HTMLElement;
  readonly #api: Api;
  readonly #onAsk: (query: string) => void;
  readonly #onClose: () => void;
  readonly #latest = new Latest();
  #open: { readonly name: string; readonly owner: string | null } | undefined;
  /** The tool as it was last shown; it is not redrawn (which would lose a selection) while it is the same. */
  #shown = '';

  constructor(panel: HTMLElement, api: Api, onAsk: (query: string) => void, onClose: () => void) {
    this.#panel = panel;
    this.#api = api;
    this.#onAsk = onAsk;
    this.#onClose = onClose;
    setInterval(() => {
      if (!document.hidden) this.refresh();
    }, REFRESH_MS);
  }

  /** Opens the route's tool, or closes the panel if there is none. */
  follow(route: Route | null): void {
    const wanted = route?.name == null ? undefined : { name: route.name, owner: route.owner };
    const isSame =
      wanted !== undefined &&
      this.#open !== undefined &&
      keyOfTool(wanted.name, wanted.owner) === keyOfTool(this.#open.name, this.#open.owner);
    this.#panel.hidden = wanted === undefined;
    if (isSame) return;
    this.#open = wanted;
    this.#shown = '';
    this.#latest.cancel();
    if (wanted === undefined) return this.#panel.replaceChildren();
    this.#panel.setAttribute('aria-label', `Tool ${wanted.name}`);
    this.#panel.replaceChildren(
      detailHead(wanted.name, this.#onClose),
      element('p', { class: 'muted' }, 'Loading …'),
    );
    this.#panel.scrollTop = 0;
    this.#panel.querySelector<HTMLElement>('h2')?.focus({ preventScroll: true });
    this.refresh();
  }

  /** Asks for the open tool again. */
  refresh(): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#latest.ask(
      (signal) => this.#api.tool(open.name, open.owner, signal),
      (tool) => this.#show(tool),
      (error) =>
        this.#showProblem(open.name, error instanceof Error ? error.message : String(error)),
    );
  }

  #show(tool: DetailedTool): void {
    const text = JSON.stringify(tool);
    if (text === this.#shown) return;
    this.#shown = text;
    replaceContent(this.#panel, ...toolView(tool, this.#onAsk, this.#onClose));
  }

  #showProblem(name: string, problem: string): void {
    this.#shown = '';
    replaceContent(
      this.#panel,
      detailHead(name, this.#onClose),
      element('p', { class: 'problem', role: 'alert' }, problem),
    );
  }
}

/** Shows all fields of one tool. */
function toolView(
  tool: DetailedTool,
  onAsk: (query: string) => void,
  onClose: () => void,
): readonly Child[] {
  const rows = schemaRows(tool.parameters);
  return [
    detailHead(tool.name, onClose, tool.version),
    element('div', { class: 'marks' }, ...factMarks(tool), ...noticeMarks(tool)),
    foldedText(tool.description, 'description'),
    tool.examples.length > 0 &&
      section(
        'Example requests',
        ...tool.examples.map((example) =>
          button(example, () => onAsk(example), { class: 'example', title: 'Search for this' }),
        ),
      ),
    section(
      'Parameters',
      rows.length === 0 ? element('p', { class: 'muted' }, 'It takes none.') : parameterTable(rows),
    ),
    section('Metadata', factsView(tool)),
    section('Health', ...providersView(tool)),
    element(
      'details',
      { 'data-key': 'json' },
      element('summary', { 'data-key': 'json-summary' }, 'Raw JSON'),
      element('pre', { tabindex: 0, 'aria-label': 'Raw JSON' }, JSON.stringify(tool, null, 2)),
    ),
  ];
}

/** Shows the head of the open tool, alone while there is nothing more to show. */
function detailHead(name: string, onClose: () => void, version: string | null = null): HTMLElement {
  return element(
    'div',
    { class: 'detail-head' },
    element(
      'h2',
      { tabindex: -1, 'data-key': 'detail-title' },
      element('bdi', {}, name),
      version !== null && element('span', { class: 'version' }, version),
    ),
    button('Close', onClose, {
      class: 'quiet',
      'data-key': 'close',
      'aria-keyshortcuts': 'Escape',
    }),
  );
}

function section(title: string, ...content: readonly Child[]): HTMLElement {
  return element('section', {}, element('h3', {}, title), ...content);
}

function parameterTable(rows: readonly SchemaRow[]): HTMLElement {
  const heads = ['Name', 'Type', 'Description'].map((head) =>
    element('th', { scope: 'col' }, head),
  );
  const table = element(
    'table',
    { class: 'parameters' },
    element('thead', {}, element('tr', {}, ...heads)),
    element(
      'tbody',
      {},
      ...rows.map(({ path, type, required, description, rules }) =>
        element(
          'tr',
          {},
          element(
            'th',
            { scope: 'row' },
            element('bdi', {}, path),
            required && element('span', { class: 'required' }, 'required'),
          ),
          element('td', { class: 'type' }, type),
          element(
            'td',
            {},
            description !== '' && element('span', {}, description),
            rules.length > 0 && element('span', { class: 'rules' }, rules.join(' · ')),
          ),
        ),
      ),
    ),
  );
  return element('div', { class: 'table-place' }, table);
}

/** Shows a tool's metadata by name; values that its author did not write are marked as inferred. */
function factsView(tool: DetailedTool): HTMLElement {
  const inferred = new Set(tool.inferred);
  const facts = factsOf(tool).filter(([, , values]) => values.length > 0);
  return element(
    'dl',
    { class: 'facts' },
    ...facts.flatMap(([key, label, values]) => [
      element('dt', {}, label),
      element(
        'dd',
        {},
        element('bdi', {}, values.join(', ')),
        inferred.has(key) &&
          element(
            'span',
            { class: 'inferred', title: 'not declared: filled in towards the strict side' },
            'inferred',
          ),
      ),
    ]),
  );
}

type Fact = readonly [key: string, label: string, values: readonly string[]];

function factsOf(tool: DetailedTool): readonly Fact[] {
  return fieldsOn('facts').map(([name, { wire, kind, label, words }]) => {
    const value = tool[wire as keyof DetailedTool];
    if (name === 'authStatus') return [wire, label!, authOf(tool)];
    if (name === 'requiresFlags') return [wire, label!, flagWords(tool.requires_flags)];
    if (kind === 'personas' && Array.isArray(value) && value.length === 0)
      return [wire, label!, ['no persona']];
    const values =
      typeof value === 'boolean' && words !== undefined
        ? [words[value ? 0 : 1]].filter((word) => word !== '')
        : valuesOn(value);
    const unit =
      kind === 'wholeSeconds' || kind === 'seconds'
        ? 's'
        : name === 'costPerCall'
          ? (tool.cost_unit ?? '')
          : '';
    return [wire, label!, unit === '' ? values : values.map((each) => `${each} ${unit}`)];
  });
}

function authOf({ auth_status: { required, ready, missing } }: DetailedTool): readonly string[] {
  if (!required) return [];
  if (ready) return ['required, and there'];
  return [
    missing.length === 0 ? 'required, and not there' : `required; not set: ${missing.join(', ')}`,
  ];
}

/** Shows the health of a tool, and of each of its providers in the order in which they are tried. */
function providersView({ health, providers }: DetailedTool): readonly HTMLElement[] {
  const byPriority = [...providers].sort((a, b) => a.priority - b.priority);
  const known = new Map(Object.entries(health.providers));
  // Two providers of one name are told apart by a part of their configuration's digest, so some names are only in
  // `health`.
  const names = [...new Set([...byPriority.map(({ name }) => name), ...known.keys()])];
  const own = health.tool.samples ?? [];
  return [
    figures(health.tool, health.tool.abandoned),
    ...(own.length > 0 ? [latencyChart(own)] : []),
    ...names.map((name) =>
      providerView(name, known.get(name), name === health.last_success_provider),
    ),
  ];
}

function providerView(
  name: string,
  health: ProviderHealthWire | undefined,
  answeredLast: boolean,
): HTMLElement {
  const until = health?.router.backoff_until ?? null;
  return element(
    'div',
    { class: 'provider' },
    element(
      'h4',
      {},
      element('bdi', {}, name),
      answeredLast && element('span', { class: 'tag' }, 'answered last'),
      until !== null &&
        element(
          'span',
          { class: 'tag warning' },
          `left alone until ${new Date(until * 1_000).toLocaleTimeString()}`,
        ),
    ),
    health !== undefined && figures(health.metrics),
    health?.samples !== undefined && health.samples.length > 0 && latencyChart(health.samples),
  );
}

function figures(numbers: MetricsWire, abandoned = 0): HTMLElement {
  const latencies =
    numbers.total === 0
      ? ''
      : ` · average ${milliseconds(numbers.average_latency_ms)} · p95 ${milliseconds(numbers.p95_latency_ms)}`;
  return element(
    'p',
    { class: 'figures' },
    healthWords(numbers) + latencies + (abandoned === 0 ? '' : ` · ${abandoned} abandoned`),
  );
}

/** Calls that are drawn: as many as the server keeps. */
const MOST = 100;
const HEIGHT = 48;
const STEP = 4;
const BAR = 3;
const LOWEST = 2;

/** Shows the last calls as bars, the newest at the right: as high as they took long; failed ones stand out. */
function latencyChart(samples: readonly SampleWire[]): HTMLElement {
  const calls = samples.slice(-MOST);
  const slowest = Math.max(1, ...calls.map(({ latency_ms }) => latency_ms));
  const failed = calls.filter(({ success }) => !success).length;
  const first = MOST - calls.length;
  const label = `The last ${calls.length} calls: ${failed} failed, the slowest took ${milliseconds(slowest)}`;
  const bars = calls.map(({ at, success, latency_ms }, index) => {
    const height = Math.max(LOWEST, (latency_ms / slowest) * HEIGHT);
    const bar = {
      x: (first + index) * STEP,
      y: (HEIGHT - height).toFixed(1),
      width: BAR,
      height: height.toFixed(1),
      class: success ? 'call' : 'call failed',
    };
    return svgElement(
      'rect',
      bar,
      svgElement(
        'title',
        {},
        `${new Date(at * 1_000).toLocaleString()}: ${success ? 'succeeded' : 'failed'} after ${milliseconds(latency_ms)}`,
      ),
    );
  });
  return element(
    'figure',
    { class: 'chart' },
    svgElement(
      'svg',
      {
        viewBox: `0 0 ${MOST * STEP} ${HEIGHT}`,
        preserveAspectRatio: 'none',
        role: 'img',
        'aria-label': label,
      },
      ...bars,
    ),
    element(
      'figcaption',
      {},
      element('span', {}, `last ${calls.length}, ${failed} failed`),
      element('span', {}, `slowest ${milliseconds(slowest)}`),
    ),
  );
}
