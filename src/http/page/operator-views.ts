import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import type { RecordedCall } from '../../execution/call-log.js';
import type { Pending, PendingApproval, PendingQuestion } from '../../safety/calls.js';
import type { GrantChoice } from '../../safety/grants.js';
import type { Overview, Wire } from '../operator-routes.js';
import { ask, useJson } from './api.js';
import {
  Bars,
  Facts,
  fold,
  mark,
  milliseconds,
  number,
  pre,
  Table,
  time,
  useAction,
  type Fact,
} from './parts.js';
import { currentRoute, hrefOf, hrefWith } from './route.js';

type OnlySome<T> = Partial<Wire<Omit<T, 'kind'>>>;
type PendingWire = Wire<Pending> &
  OnlySome<PendingApproval> &
  OnlySome<PendingQuestion> & { readonly grant_choices: readonly GrantChoice[] };

/** The waiting calls, and what the user's token allows. */
export interface Waiting {
  readonly allowed: { readonly approve: boolean; readonly run: boolean };
  readonly pending: readonly PendingWire[];
}

const loading = (problem: string | undefined) =>
  html`<p class="empty" role="status">${problem ?? 'Loading …'}</p>`;
const toolLink = (name: string) => html`<a href=${hrefOf('tools', name)}>${name}</a>`;

/** Shows waiting calls, failures, slow tools and today's changes. */
export function OverviewView() {
  const { answer, error } = useJson<Overview>('overview');
  if (answer === undefined) return loading(error?.message);
  const { waiting, last_hour: slots, failing, slowest, findings, changed_today: changed } = answer;
  const total = (field: 'calls' | 'errors') => slots.reduce((sum, slot) => sum + slot[field], 0);
  const block = (title: string, empty: string, facts: readonly Fact[]) =>
    html`<section class="card">
      <h2>${title}</h2>
      ${facts.length === 0 ? html`<p class="muted">${empty}</p>` : html`<${Facts} facts=${facts} />`}
    </section>`;
  return html`
    <section class="card">
      <h2>
        <a href=${hrefOf('waiting')}
          >${waiting === 0 ? 'Nothing is waiting for you' : `${number(waiting)} waiting for you`}</a
        >
      </h2>
      <${Bars}
        label=${`Calls in the last hour: ${number(total('calls'))}, failed: ${number(total('errors'))}`}
        places=${slots.length}
        bars=${slots.map(({ calls, errors }) => [
          { value: calls, failed: false },
          { value: errors, failed: true },
        ])}
      />
    </section>
    ${block(
      'Findings',
      'Nothing to fix.',
      Object.entries(findings).map(([severity, count]) => [
        html`<a href=${hrefOf('findings')}>${severity}</a>`,
        number(count),
      ]),
    )}
    ${block(
      'Failing',
      'No call failed in the last hour.',
      failing.map(({ name, errors, calls }) => [toolLink(name), `${errors} of ${calls} failed`]),
    )}
    ${block(
      'Slowest',
      'No calls in the last hour.',
      slowest.map(({ name, mean_ms }) => [toolLink(name), `${milliseconds(mean_ms)} on average`]),
    )}
    ${block(
      'Changed today',
      'No definition has changed since this server started.',
      changed.map(({ name, change, at }) => [toolLink(name), `${change} at ${time(at)}`]),
    )}
  `;
}

/** Lists the calls that are waiting for a person, newest first. */
export function WaitingView() {
  const { answer, error, again } = useJson<Waiting>('pending');
  if (answer === undefined) return loading(error?.message);
  const { pending, allowed } = answer;
  return html`
    ${!allowed.approve && html`<p class="muted">With this token you can view calls but not answer them.</p>`}
    ${pending.length === 0 && html`<p class="empty">Nothing is waiting for you.</p>`}
    ${pending.map(
      (each) =>
        html`<${PendingCard}
          key=${each.id}
          pending=${each}
          mayAnswer=${allowed.approve}
          onDone=${again}
        />`,
    )}
  `;
}

interface CardProps {
  readonly pending: PendingWire;
  readonly mayAnswer: boolean;
  readonly onDone: () => void;
}

const KINDS = {
  approval: { tag: 'approval', field: 'Arguments, which you can change' },
  question: { tag: 'question', field: 'Your answer' },
  manual: { tag: 'manual work', field: 'The result, as JSON' },
};

function PendingCard({ pending, mayAnswer, onDone }: CardProps) {
  const { id, kind, tool_name: tool, preview, danger, expires_at: end, options = [] } = pending;
  const given = JSON.stringify(pending.input, null, 2);
  const isApproval = kind === 'approval';
  const [text, setText] = useState(isApproval ? given : '');
  const { act, isBusy, alert } = useAction();
  const button = (label: string, action: string, body: () => object, style = 'quiet') =>
    html`<button
      type="button"
      class=${style}
      disabled=${isBusy}
      onClick=${() => act(() => ask(`pending/${id}/${action}`, body()).then(onDone))}
    >
      ${label}
    </button>`;
  const parsed = () => JSON.parse(text) as unknown;
  const choices = pending.choices ?? options.map((value) => ({ value, label: value }));
  const offered = pending.multiple === true ? [] : choices;
  const facts: readonly Fact[] = [
    ['for', pending.principal ?? 'an unnamed caller'],
    ['conversation', pending.conversation_id],
    ['since', time(pending.created_at)],
    ['until', end && time(end)],
    ['reason', pending.reason],
    ['effect', preview?.summary],
    ['to', preview?.recipients],
    ['cost', preview?.cost],
    ['choices', pending.multiple === true && choices.map(({ value }) => value)],
  ];
  return html`<article class="card pending" aria-label="${tool} (${pending.call_id})">
    <h2>
      <bdi>${tool}</bdi>
      ${danger && mark('danger', danger)}
      <span class="tag">${KINDS[kind].tag}</span>
    </h2>
    <p><strong>${pending.question}</strong></p>
    <${Facts} facts=${facts} />
    ${preview?.reversible === false && html`<p class="problem">This can't be undone.</p>`}
    ${preview?.diff !== undefined && pre('Changes', preview.diff)}
    ${!(isApproval && mayAnswer) && given !== '{}' && pre('Arguments', given)}
    ${pending.form !== undefined && pre('Form', pending.form)}
    ${
      mayAnswer &&
      html`
        ${
          (offered.length === 0 || pending.allow_other === true) &&
          html`<label>
            <span class="count">${KINDS[kind].field}</span>
            <textarea
              rows=${Math.min(12, text.split('\n').length + 1)}
              value=${text}
              spellcheck=${false}
              onInput=${({ target }: Event) => setText((target as HTMLTextAreaElement).value)}
            ></textarea>
          </label>`
        }
        <div class="actions">
          ${offered.map(({ value, label }) => button(label, 'answer', () => ({ value }), 'primary'))}
          ${
            isApproval
              ? text === given
                ? button('Approve', 'approve', () => ({}), 'primary')
                : button(
                    'Approve these arguments',
                    'approve',
                    () => ({ input: parsed() }),
                    'primary',
                  )
              : text !== '' &&
                button(
                  'Answer',
                  'answer',
                  () => ({ value: kind === 'manual' ? parsed() : text }),
                  'primary',
                )
          }
          ${button('Deny', 'deny', () => ({}))}
          ${pending.grant_choices.map(({ label, scope }) =>
            button(`Also allow: ${label}`, 'grant', () => scope),
          )}
        </div>
      `
    }
    ${alert}
  </article>`;
}

const STATUSES: readonly RecordedCall['status'][] = [
  'ok',
  'error',
  'denied',
  'approval_required',
  'ask_user',
  'manual',
  'halt',
];

/** Lists recent calls from all executors that share the store, with filters. */
export function CallsView() {
  const { parameters } = currentRoute();
  const [isFollowing, setFollowing] = useState(true);
  const { answer, error } = useJson<{
    readonly total: number;
    readonly calls: readonly Wire<RecordedCall>[];
  }>(`calls?${parameters.toString()}`, '', !isFollowing);
  const filter = (name: string) => ({
    value: parameters.get(name) ?? '',
    onInput: ({ target }: Event) =>
      location.replace(hrefWith({ [name]: (target as HTMLInputElement).value || null })),
  });
  return html`
    <form class="call-filters" onSubmit=${(event: Event) => event.preventDefault()}>
      <label>Tool <input type="search" ...${filter('tool')} /></label>
      <label>For <input type="search" ...${filter('principal')} /></label>
      <label>
        Status
        <select ...${filter('status')}>
          <option value="">all</option>
          ${STATUSES.map((each) => html`<option>${each}</option>`)}
        </select>
      </label>
      <label>
        <input
          type="checkbox"
          checked=${isFollowing}
          onChange=${() => setFollowing(!isFollowing)}
        />
        follow
      </label>
      <span class="count" role="status"
        >${error?.message ?? `${number(answer?.total ?? 0)} of the last 1,000 calls`}</span
      >
    </form>
    ${callTable(answer?.calls ?? [])}
  `;
}

/** Shows calls as a table. */
export function callTable(calls: readonly Wire<RecordedCall>[]) {
  if (calls.length === 0) return html`<p class="muted">No calls.</p>`;
  return html`<${Table}
    kind="calls"
    label="Calls"
    heads=${['Time', 'Tool', 'Outcome', 'Decision', 'For', 'Took']}
    rows=${calls.map((call) => [
      time(call.at),
      toolLink(call.tool_name),
      html`<span class=${call.status === 'error' ? 'problem' : ''}
          >${call.code ?? call.status}</span
        >
        ${call.input !== undefined && fold('arguments', pre('Arguments', call.input))}`,
      html`${call.verdict ?? '–'} <span class="count">${call.rule}</span>`,
      html`<bdi>${call.principal ?? '–'}</bdi>`,
      `${milliseconds(call.duration_ms)}${call.attempts > 1 ? ` in ${call.attempts} attempts` : ''}`,
    ])}
  />`;
}
