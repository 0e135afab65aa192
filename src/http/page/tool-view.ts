import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { MetricsWire, ProviderHealthWire, SampleWire } from '../../capability/wire-types.js';
import { flagWords } from '../../safety/required-flags.js';
import type { RecordedCall } from '../../execution/call-log.js';
import type { Allowed } from '../operator-room.js';
import type { Tried, Wire } from '../operator-routes.js';
import { valuesOn } from '../values-on.js';
import { ask, useJson, type DetailedTool } from './api.js';
import { callList } from './operator-views.js';
import {
  Bars,
  Facts,
  fold,
  healthWords,
  levelMarks,
  milliseconds,
  noticeMarks,
  pre,
  prose,
  Table,
  useAction,
  type Fact,
} from './parts.js';
import { hrefOf, hrefWith } from './route.js';
import { FACTS, labelOf, YES_NO } from './shown-fields.js';
import type { Work } from './work-views.js';

/** Closes the open tool. The focus returns to the tool's row. */
export function closeTool(): void {
  location.assign(hrefWith({ open: null, owner: null }));
  document.querySelector<HTMLElement>('.row-link[aria-current]')?.focus();
}

interface ToolProps {
  readonly name: string;
  readonly owner: string | null;
  /** Requests the tool again when it changes. */
  readonly version: string;
  /** The actions that the user's token allows. `undefined` if the server has no views for operators. */
  readonly allowed: Allowed | undefined;
  /** All skills and jobs. Some of them use the tool. */
  readonly skills: readonly Work[] | undefined;
  readonly jobs: readonly Work[] | undefined;
}

/** Shows the open tool in a panel. */
export function OpenTool({ name, owner, version, allowed, skills = [], jobs = [] }: ToolProps) {
  const address = `${encodeURIComponent(name)}${owner === null ? '' : `?persona=${encodeURIComponent(owner)}`}`;
  const { answer: tool, error } = useJson<DetailedTool>(`tools/${address}`, version);
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => title.current!.focus({ preventScroll: true }), []);
  return html`<aside class="detail" aria-label="Tool ${name}">
    <div class="detail-head">
      <h2 tabindex="-1" ref=${title}>
        <bdi>${name}</bdi>
        ${tool?.version != null && html`<span class="version">${tool.version}</span>`}
      </h2>
      <button type="button" class="quiet" aria-keyshortcuts="Escape" onClick=${closeTool}>
        Close
      </button>
    </div>
    ${error && html`<p class="problem" role="alert">${error.message}</p>`}
    ${tool && usedBy(tool, skills, jobs)} ${tool && toolView(tool, allowed)}
  </aside>`;
}

/** Shows what depends on what: providers, the tool, the skills that require it, and jobs. */
function usedBy(tool: DetailedTool, skills: readonly Work[], jobs: readonly Work[]) {
  const using = skills.filter(({ required_tools: tools }) => tools.includes(tool.name));
  const names = using.map(({ name }) => name);
  const working = jobs.filter(
    ({ required_tools: tools, required_skills: wanted = [] }) =>
      tools.includes(tool.name) || wanted.some((each) => names.includes(each)),
  );
  const links = (view: 'skills' | 'jobs', items: readonly Work[]) =>
    items.map(({ name, persona }) => html`<a href=${hrefOf(view, name, persona)}>${name}</a> `);
  const providers = valuesOn(tool['providers']).join(', ');
  const users = [links('skills', using), links('jobs', working)].filter(({ length }) => length > 0);
  if (users.length === 0) return null;
  return html`<p class="used-by">
    <span class="count">used by</span>${' '}
    ${[...(providers ? [providers] : []), tool.name, ...users].map(
      (step, index) => html`${index > 0 && ' → '}<bdi>${step}</bdi>`,
    )}
  </p>`;
}

const section = (heading: string, content: unknown) =>
  html`<section>
    <h3>${heading}</h3>
    ${content}
  </section>`;

/** Shows all fields of one tool. */
function toolView(tool: DetailedTool, allowed: Allowed | undefined) {
  const parameters = parametersOf(tool.parameters);
  return html`
    <div class="marks">${levelMarks(tool)} ${noticeMarks(tool)}</div>
    ${prose(tool.description)} ${section('Health', health(tool))}
    ${allowed && html`<${RecentCalls} name=${tool.name} />`}
    ${tool.examples.length > 0 && section('Example requests', tool.examples.map(prose))}
    ${section('Parameters', parameterTable(parameters))}
    ${section(
      'What a model sees',
      tool.shown_to_models.map(({ level, tokens, shown }) =>
        fold(`${level}, about ${tokens} tokens`, pre(`${level} for a model`, shown)),
      ),
    )}
    ${section('Metadata', html`<${Facts} facts=${factsOf(tool)} />`)}
    ${allowed?.run && section('Try it', html`<${TryIt} name=${tool.name} parameters=${parameters} />`)}
  `;
}

/** A parameter of a tool with its JSON Schema. */
interface Parameter {
  readonly name: string;
  readonly isRequired: boolean;
  readonly schema: Readonly<Record<string, unknown>>;
}

function parametersOf({ properties, required }: DetailedTool['parameters']): readonly Parameter[] {
  return Object.entries(properties ?? {}).map(([name, schema]) => ({
    name,
    isRequired: required?.includes(name) === true,
    schema,
  }));
}

/** Shows parameters. Nested parameters appear as JSON Schema. */
function parameterTable(parameters: readonly Parameter[]) {
  if (parameters.length === 0) return html`<p class="muted">It has no parameters.</p>`;
  return html`<${Table}
    kind="parameters"
    label="Parameters"
    heads=${['Name', 'Type', 'Description']}
    rows=${parameters.map(({ name, isRequired, schema: { type, description, ...rules } }) => [
      html`<bdi>${name}</bdi>${isRequired && html`<span class="required">required</span>`}`,
      html`<code>${[type ?? 'any'].flat().map(String).join(' | ')}</code>`,
      html`<span>${description}</span>
        <span class="rules"
          >${Object.entries(rules).map(([rule, value]) => html`${rule} ${JSON.stringify(value)} `)}</span
        >`,
    ])}
  />`;
}

function factsOf(tool: DetailedTool): readonly Fact[] {
  const { inferred, auth_status: auth, requires_flags: flags, persona_allowlist: only } = tool;
  const { cost_per_call: cost, default_timeout: timeout } = tool;
  const missing = auth.missing.length > 0 ? `required; not set: ${auth.missing.join(', ')}` : '';
  const own: Readonly<Record<string, unknown>> = {
    auth_status:
      auth.required && (auth.ready ? 'required, and set' : missing || 'required, and not set'),
    requires_flags: flagWords(flags),
    cost_per_call: cost !== null && `${cost} ${tool.cost_unit ?? ''}`,
    default_timeout: timeout !== null && `${timeout} s`,
    persona_allowlist: only?.length === 0 ? 'no persona' : only,
  };
  return FACTS.map((field) => {
    const value = field in own ? own[field] : tool[field];
    const shown = typeof value === 'boolean' && !(field in own) ? YES_NO[String(value)] : value;
    return [labelOf(field), shown === false ? false : valuesOn(shown), inferred.includes(field)];
  });
}

/** Shows the health of a tool and of its providers. */
function health({ health: { tool, providers, last_success_provider: last } }: DetailedTool) {
  return html`
    ${figures(tool, tool.samples)}
    ${Object.entries(providers).map(([name, each]) => provider(name, each, name === last))}
  `;
}

function provider(name: string, { metrics, router, samples }: ProviderHealthWire, isLast: boolean) {
  const { backoff_until: until } = router;
  return html`<div class="provider">
    <h4>
      <bdi>${name}</bdi>
      ${isLast && html`<span class="tag">answered last</span>`}
      ${
        until !== null &&
        html`<span class="tag warning"
          >backing off until ${new Date(until * 1_000).toLocaleTimeString()}</span
        >`
      }
    </h4>
    ${figures(metrics, samples)}
  </div>`;
}

/** Number of calls in the panel of a tool. */
const RECENT = 10;
/** Maximum number of calls in the chart. The server doesn't store more calls. */
const MOST = 100;

/** Shows statistics, and the durations of recent calls as bars with the newest on the right. */
function figures(metrics: MetricsWire, samples: readonly SampleWire[] = []) {
  const { total, average_latency_ms: average, p95_latency_ms: p95 } = metrics;
  const failed = samples.filter(({ success }) => !success).length;
  const slowest = Math.max(0, ...samples.map(({ latency_ms }) => latency_ms));
  return html`
    <p class="figures">
      ${healthWords(metrics)}
      ${total > 0 && ` · average ${milliseconds(average)} · p95 ${milliseconds(p95)}`}
    </p>
    ${
      samples.length > 0 &&
      html`<${Bars}
        label=${`The last ${samples.length} calls: ${failed} failed, the slowest took ${milliseconds(slowest)}`}
        places=${MOST}
        bars=${samples.map(({ success, latency_ms: value }) => [{ value, failed: !success }])}
      />`
    }
  `;
}

/** Shows the tool's last calls, with the reasons for failures. */
function RecentCalls({ name }: { readonly name: string }) {
  const { answer } = useJson<{ readonly calls: readonly Wire<RecordedCall>[] }>(
    `calls?tool=${encodeURIComponent(name)}`,
  );
  // The filter also matches longer names.
  const own = answer?.calls.filter(({ tool_name: tool }) => tool === name) ?? [];
  return section('Recent calls', callList(own.slice(0, RECENT)));
}

interface TryProps {
  readonly name: string;
  readonly parameters: readonly Parameter[];
}

/**
 * Lets an operator type arguments and run a tool with these arguments, under the server's policy.
 */
function TryIt({ name, parameters }: TryProps) {
  const [tried, setTried] = useState<Tried>();
  const { act, isBusy, alert } = useAction();
  const run = (event: Event) => {
    event.preventDefault();
    const texts = new FormData(event.target as HTMLFormElement);
    act(async () => {
      const fields = parameters.flatMap(({ name: parameter, schema }) => {
        const text = texts.get(parameter) as string;
        if (text === '') return [];
        return [[parameter, isText(schema) ? text : (JSON.parse(text) as unknown)]];
      });
      // A call that waits for a person keeps its id, so that its approval counts.
      const id =
        tried !== undefined && 'pending' in tried.outcome ? tried.outcome.callId : undefined;
      setTried(await ask('run', { name, id, input: Object.fromEntries(fields) as object }));
    });
  };
  return html`
    <form class="try" onSubmit=${run}>
      ${parameters.map(
        (parameter) =>
          html`<label>
            <span>
              <bdi>${parameter.name}</bdi>
              ${parameter.isRequired && html`<span class="required">required</span>`}
            </span>
            ${control(parameter)}
            <span class="count">${parameter.schema['description']}</span>
          </label>`,
      )}
      <button type="submit" class="primary" disabled=${isBusy}>Run</button>
    </form>
    ${alert}
    ${
      tried &&
      html`<div role="status">
        <p>Outcome: <strong>${tried.outcome.status}</strong></p>
        ${
          'pending' in tried.outcome &&
          html`<p>
            It waits for a person. <a href=${hrefOf('waiting')}>Answer it</a>, then run it again
            with the same arguments.
          </p>`
        }
        ${fold('What the model sees', pre('What the model sees', tried.model_reads), true)}
        ${fold('Outcome', pre('Outcome', tried.outcome))}
      </div>`
    }
  `;
}

/** Returns true if users type an argument as plain text. Users type all other arguments as JSON. */
const isText = ({ type, enum: choices }: Parameter['schema']) =>
  type === 'string' && choices === undefined;

function control({ name, isRequired, schema }: Parameter) {
  const { type, enum: choices = type === 'boolean' ? [true, false] : undefined } = schema;
  if (Array.isArray(choices))
    return html`<select name=${name} required=${isRequired}>
      <option></option>
      ${choices.map((choice) => html`<option>${JSON.stringify(choice)}</option>`)}
    </select>`;
  const isShort = ['string', 'number', 'integer'].includes(type as string);
  return html`<${isShort ? 'input' : 'textarea'}
    name=${name}
    required=${isRequired}
    placeholder=${isShort ? '' : 'JSON'}
  />`;
}
