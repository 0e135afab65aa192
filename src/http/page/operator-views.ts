import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { getJson, postJson } from './api.js';
import { milliseconds, number } from './marks.js';
import { formatRoute, type Route } from './route.js';

/** Milliseconds between requests while a view is visible. */
const REFRESH_MS = 2_000;

/** The rights of the token that the page was opened with. */
interface Allowed {
  readonly approve: boolean;
  readonly run: boolean;
}

interface GrantChoice {
  readonly label: string;
  readonly scope: object;
}

interface Pending {
  readonly id: string;
  readonly kind: 'approval' | 'question' | 'manual';
  readonly call_id: string;
  readonly tool_name: string;
  readonly input: unknown;
  readonly principal?: string;
  readonly conversation_id?: string;
  readonly created_at: number;
  readonly expires_at?: number;
  readonly danger?: string;
  readonly reason?: string;
  readonly preview?: {
    readonly summary: string;
    readonly recipients?: readonly string[];
    readonly cost?: string;
    readonly reversible?: boolean;
    readonly diff?: string;
  };
  readonly question?: string;
  readonly options?: readonly string[];
  readonly choices?: readonly { readonly value: string; readonly label?: string }[];
  readonly multiple?: boolean;
  readonly allow_other?: boolean;
  readonly form?: object;
  readonly grant_choices: readonly GrantChoice[];
}

export interface Call {
  readonly call_id: string;
  readonly tool_name: string;
  readonly principal?: string;
  readonly conversation_id?: string;
  readonly at: number;
  readonly status: string;
  readonly code?: string;
  readonly duration_ms: number;
  readonly attempts: number;
  readonly verdict?: string;
  readonly rule?: string;
  readonly input?: string;
}

export interface Overview {
  readonly waiting: number;
  readonly last_hour: readonly { readonly calls: number; readonly errors: number }[];
  readonly failing: readonly ToolFigures[];
  readonly slowest: readonly ToolFigures[];
  /** The number of findings by severity. */
  readonly findings: Readonly<Record<string, number>>;
  readonly changed_today: readonly {
    readonly name: string;
    readonly persona: string | null;
    readonly change: string;
    readonly at: number;
  }[];
}

interface ToolFigures {
  readonly name: string;
  readonly calls: number;
  readonly errors: number;
  readonly mean_ms: number;
}

/** Polls a URL while the page is visible. */
export function usePolled<T>(address: string): readonly [T | undefined, string, () => void] {
  const [answer, setAnswer] = useState<T>();
  const [problem, setProblem] = useState('');
  const [round, setRound] = useState(0);
  useEffect(() => {
    const running = new AbortController();
    const ask = () =>
      getJson<T>(address, running.signal).then(
        (next) => {
          setAnswer(next);
          setProblem('');
        },
        (error: Error) => running.signal.aborted || setProblem(error.message),
      );
    void ask();
    const timer = setInterval(() => document.hidden || void ask(), REFRESH_MS);
    return () => {
      running.abort();
      clearInterval(timer);
    };
  }, [address, round]);
  return [answer, problem, () => setRound(round + 1)];
}

const time = (at: number) => new Date(at).toLocaleTimeString();
const toolLink = (route: Route, name: string) =>
  html`<a href=${formatRoute({ ...route, view: 'tools', name, owner: null })}>${name}</a>`;

/** Shows waiting calls, failures, slow tools and today's changes. */
export function OverviewView({ route }: { readonly route: Route }) {
  const [answer, problem] = usePolled<Overview>('overview');
  if (answer === undefined)
    return html`<p class="empty" role="status">${problem || 'Loading …'}</p>`;
  const { waiting, last_hour: slots, failing, slowest, findings, changed_today: changed } = answer;
  const total = (field: 'calls' | 'errors') => slots.reduce((sum, slot) => sum + slot[field], 0);
  const most = Math.max(1, ...slots.map(({ calls }) => calls));
  const label = `Calls in the last hour: ${number(total('calls'))}, failed: ${number(total('errors'))}`;
  const block = (title: string, empty: string, rows: readonly unknown[]) =>
    html`<section class="card">
      <h2>${title}</h2>
      ${
        rows.length === 0
          ? html`<p class="muted">${empty}</p>`
          : html`<ul>
              ${rows}
            </ul>`
      }
    </section>`;
  return html`
    <section class="card">
      <h2>
        <a href=${formatRoute({ ...route, view: 'waiting' })}
          >${waiting === 0 ? 'Nothing is waiting for you' : `${number(waiting)} waiting for you`}</a
        >
      </h2>
      <figure class="chart">
        <svg
          viewBox="0 0 ${slots.length * 8} 40"
          preserveAspectRatio="none"
          role="img"
          aria-label=${label}
        >
          ${slots.map(
            ({ calls, errors }, index) => html`
              <rect
                class="call"
                x=${index * 8}
                width="7"
                y=${40 - (40 * calls) / most}
                height=${(40 * calls) / most}
              />
              <rect
                class="call failed"
                x=${index * 8}
                width="7"
                y=${40 - (40 * errors) / most}
                height=${(40 * errors) / most}
              />
            `,
          )}
        </svg>
        <figcaption><span>${label}</span></figcaption>
      </figure>
    </section>
    ${block(
      'Findings',
      'Nothing to fix.',
      Object.entries(findings).map(
        ([severity, count]) =>
          html`<li>
            <a href=${formatRoute({ ...route, view: 'findings' })}>${number(count)} ${severity}</a>
          </li>`,
      ),
    )}
    ${block(
      'Failing',
      'No call failed in the last hour.',
      failing.map(
        ({ name, errors, calls }) =>
          html`<li>
            ${toolLink(route, name)} <span class="count">${errors} of ${calls} failed</span>
          </li>`,
      ),
    )}
    ${block(
      'Slowest',
      'No calls in the last hour.',
      slowest.map(
        ({ name, mean_ms: mean }) =>
          html`<li>
            ${toolLink(route, name)} <span class="count">${milliseconds(mean)} on average</span>
          </li>`,
      ),
    )}
    ${block(
      'Changed today',
      'No definition has changed since this server started.',
      changed.map(
        ({ name, change, at }) =>
          html`<li>
            ${toolLink(route, name)} <span class="count">${change} at ${time(at)}</span>
          </li>`,
      ),
    )}
  `;
}

/** Lists the calls that are waiting for a person, newest first. */
export function WaitingView() {
  const [answer, problem, again] = usePolled<{
    readonly allowed: Allowed;
    readonly pending: readonly Pending[];
  }>('pending');
  if (answer === undefined)
    return html`<p class="empty" role="status">${problem || 'Loading …'}</p>`;
  const { pending, allowed } = answer;
  return html`
    ${!allowed.approve && html`<p class="muted">With this token you can view calls but not answer them.</p>`}
    ${pending.length === 0 && html`<p class="empty">Nothing is waiting for you.</p>`}
    ${pending.map(
      (each) =>
        html`<${PendingCard} key=${each.id} pending=${each} allowed=${allowed} onDone=${again} />`,
    )}
  `;
}

interface CardProps {
  readonly pending: Pending;
  readonly allowed: Allowed;
  readonly onDone: () => void;
}

function PendingCard({ pending, allowed, onDone }: CardProps) {
  const { id, kind, tool_name: tool, preview, grant_choices: grants, expires_at: end } = pending;
  const given = JSON.stringify(pending.input, null, 2);
  const [text, setText] = useState(kind === 'approval' ? given : '');
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const act = async (action: string, body: () => object) => {
    setBusy(true);
    try {
      await postJson(`pending/${id}/${action}`, body());
      onDone();
    } catch (error) {
      setProblem(error instanceof SyntaxError ? "This isn't JSON." : (error as Error).message);
      setBusy(false);
    }
  };
  const button = (label: string, action: string, body: () => object, style = 'quiet') =>
    html`<button
      type="button"
      class=${style}
      disabled=${isBusy}
      onClick=${() => void act(action, body)}
    >
      ${label}
    </button>`;
  const approval = () => (text === given ? {} : { input: JSON.parse(text) as unknown });
  const answerOf = () => ({
    value: kind === 'question' ? textOrJson(text) : (JSON.parse(text) as unknown),
  });
  const options = (pending.options ?? []).map((value) => ({ value, label: value }));
  const choices = pending.multiple === true ? [] : (pending.choices ?? options);
  const takesText = choices.length === 0 || pending.allow_other === true;
  return html`<article class="card pending" aria-label="${tool} (${pending.call_id})">
    <h2>
      <bdi>${tool}</bdi>
      ${pending.danger !== undefined && html`<span class="fact danger" data-level=${pending.danger}>${pending.danger} danger</span>`}
      ${kind !== 'approval' && html`<span class="tag">${kind === 'question' ? 'question' : 'manual work'}</span>`}
    </h2>
    <p class="count">
      ${[
        pending.principal === undefined ? 'for an unnamed caller' : `for ${pending.principal}`,
        pending.conversation_id !== undefined && `conversation ${pending.conversation_id}`,
        `since ${time(pending.created_at)}`,
        end !== undefined && `until ${time(end)}`,
      ]
        .filter(Boolean)
        .join(' · ')}
    </p>
    ${pending.reason !== undefined && html`<p>${pending.reason}</p>`}
    ${pending.question !== undefined && html`<p><strong>${pending.question}</strong></p>`}
    ${preview !== undefined && html`<${PreviewLines} preview=${preview} />`}
    ${kind !== 'approval' && given !== '{}' && html`<pre tabindex="0" aria-label="Arguments">${given}</pre>`}
    ${
      allowed.approve
        ? html`
            ${
              choices.length > 0 &&
              html`<div class="actions">
                ${choices.map(({ value, label = value }) => button(label, 'answer', () => ({ value }), 'primary'))}
              </div>`
            }
            ${pending.form !== undefined && html`<pre tabindex="0" aria-label="Form">${JSON.stringify(pending.form, null, 2)}</pre>`}
            ${
              takesText &&
              html`<label>
                <span class="count"
                  >${kind === 'approval' ? 'Arguments, which you can change' : kind === 'question' ? 'Your answer' : 'The result, as JSON'}</span
                >
                <textarea
                  rows=${Math.min(12, text.split('\n').length + 1)}
                  value=${text}
                  spellcheck=${false}
                  onInput=${({ target }: Event) => setText((target as HTMLTextAreaElement).value)}
                ></textarea>
              </label>`
            }
            <div class="actions">
              ${kind === 'approval' && button(text === given ? 'Approve' : 'Approve these arguments', 'approve', approval, 'primary')}
              ${kind !== 'approval' && takesText && button('Answer', 'answer', answerOf, 'primary')}
              ${button('Deny', 'deny', () => ({}))}
              ${grants.map(({ label, scope }) => button(`Also allow: ${label}`, 'grant', () => scope))}
            </div>
          `
        : kind === 'approval' && html`<pre tabindex="0" aria-label="Arguments">${given}</pre>`
    }
    ${problem !== '' && html`<p class="problem" role="alert">${problem}</p>`}
  </article>`;
}

function textOrJson(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  return JSON.parse(text) as unknown;
}

function PreviewLines({ preview }: { readonly preview: NonNullable<Pending['preview']> }) {
  const { summary, recipients = [], cost, reversible, diff } = preview;
  return html`
    <p class="prose">${summary}</p>
    ${recipients.length > 0 && html`<p>To: <bdi>${recipients.join(', ')}</bdi></p>`}
    ${cost !== undefined && html`<p>Cost: ${cost}</p>`}
    ${reversible === false && html`<p class="problem">This can't be undone.</p>`}
    ${diff !== undefined && html`<pre tabindex="0" aria-label="Changes">${diff}</pre>`}
  `;
}

const STATUSES = ['ok', 'error', 'denied', 'approval_required', 'ask_user', 'manual', 'halt'];

/** Lists recent calls from all executors that share the store, with filters. */
export function CallsView({ route }: { readonly route: Route }) {
  const [filters, setFilters] = useState({ tool: '', principal: '', status: '' });
  const [isFollowing, setFollowing] = useState(true);
  const query = new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== ''));
  const [answer, problem] = usePolled<{ readonly total: number; readonly calls: readonly Call[] }>(
    `calls?${query.toString()}`,
  );
  const [kept, setKept] = useState(answer);
  useEffect(() => {
    if (isFollowing) setKept(answer);
  }, [answer, isFollowing]);
  const onInput = (field: string) => (event: Event) =>
    setFilters({ ...filters, [field]: (event.target as HTMLInputElement).value.trim() });
  return html`
    <form class="call-filters" onSubmit=${(event: Event) => event.preventDefault()}>
      <label>Tool <input type="search" value=${filters.tool} onChange=${onInput('tool')} /></label>
      <label
        >For <input type="search" value=${filters.principal} onChange=${onInput('principal')}
      /></label>
      <label
        >Status
        <select onChange=${onInput('status')}>
          <option value="">all</option>
          ${STATUSES.map((each) => html`<option value=${each}>${each}</option>`)}
        </select></label
      >
      <label
        ><input
          type="checkbox"
          checked=${isFollowing}
          onChange=${() => setFollowing(!isFollowing)}
        />
        follow</label
      >
      <span class="count" role="status"
        >${problem || `${number(kept?.total ?? 0)} of the last 1,000 calls`}</span
      >
    </form>
    <${CallTable} route=${route} calls=${kept?.calls ?? []} />
  `;
}

/** Shows calls as a table. */
export function CallTable({
  route,
  calls,
}: {
  readonly route: Route | undefined;
  readonly calls: readonly Call[];
}) {
  if (calls.length === 0) return html`<p class="muted">No calls.</p>`;
  return html`<div class="table-place" tabindex="0" role="region" aria-label="Calls">
    <table class="calls">
      <thead>
        <tr>
          ${['Time', 'Tool', 'Outcome', 'Decision', 'For', 'Took'].map((each) => html`<th scope="col">${each}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${calls.map(
          (call) =>
            html`<tr data-status=${call.status}>
              <td><time datetime=${new Date(call.at).toISOString()}>${time(call.at)}</time></td>
              <td>${route === undefined ? call.tool_name : toolLink(route, call.tool_name)}</td>
              <td>
                <span class=${call.status === 'error' ? 'problem' : ''}
                  >${call.code ?? call.status}</span
                >
                ${
                  call.input !== undefined &&
                  html`<details>
                    <summary>arguments</summary>
                    <pre tabindex="0">${call.input}</pre>
                  </details>`
                }
              </td>
              <td>${call.verdict ?? '–'} <span class="count">${call.rule ?? ''}</span></td>
              <td><bdi>${call.principal ?? '–'}</bdi></td>
              <td>
                ${milliseconds(call.duration_ms)}${call.attempts > 1 && ` in ${call.attempts} attempts`}
              </td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
