import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { healthLevelOf, MOST_COUNTED } from '../values-on.js';
import type { MetricsWire } from '../../capability/wire-types.js';
import { ROWS, type List, type Tool } from './api.js';
import { currentRoute, hrefWith } from './route.js';

export const number = (value: number) => value.toLocaleString('en');
/** Returns the number of waiting calls. The server counts up to a limit. */
export const waitingCount = (count: number) => `${number(count)}${count < MOST_COUNTED ? '' : '+'}`;
export const time = (at: number) => new Date(at).toLocaleTimeString();

export function milliseconds(value: number | null): string {
  if (value === null) return '–';
  return value < 1_000
    ? `${value.toFixed(value < 10 ? 1 : 0)} ms`
    : `${(value / 1_000).toFixed(2)} s`;
}

/**
 * Returns the success rate in percent, or "no calls". Rounds down, because 99.96 % with failures
 * isn't 100 %.
 */
export function healthWords({ success_rate: rate, total }: MetricsWire): string {
  return rate === null || total === 0
    ? 'no calls'
    : `${Math.floor(rate * 1_000) / 10} % of ${total}`;
}

/** Shows a level as a word. Colour is only an additional cue. */
export function mark(kind: 'access' | 'danger' | 'cost', level: string) {
  return html`<span class="fact ${kind}" data-level=${level}
    >${level}<span class="unit"> ${kind}</span></span
  >`;
}

/** Shows a tool's access, danger, cost and health. */
export function levelMarks({ access_mode: access, danger_level: danger, ...tool }: Tool) {
  const { tool: metrics } = tool.health;
  return html`
    ${mark('access', access)} ${mark('danger', danger)} ${mark('cost', tool.cost_tier)}
    <span class="fact" data-level=${healthLevelOf(metrics.success_rate)}
      >${healthWords(metrics)}</span
    >
  `;
}

/** Shows warnings about a tool. Most tools have no warnings. */
export function noticeMarks({ persona, requires_approval: approval, available, health }: Tool) {
  const { abandoned } = health.tool;
  return html`
    ${persona !== null && html`<bdi class="tag owner" title="its persona">${persona}</bdi>`}
    ${approval && html`<span class="tag">needs approval</span>`}
    ${!available && html`<span class="tag warning">unavailable</span>`}
    ${
      abandoned > 0 &&
      html`<span
        class="tag warning"
        title="calls whose work was still running when they were answered"
        >${abandoned} abandoned</span
      >`
    }
  `;
}

/**
 * A name with one or more texts or elements. `isInferred` marks a value that the author didn't
 * declare.
 */
export type Fact = readonly [name: unknown, content: unknown, isInferred?: boolean];

/** Lists facts. Facts without content are left out. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return html`<dl class="facts">
    ${facts.map(([name, content, isInferred]) => {
      const parts = [content]
        .flat()
        .filter((part) => part !== '' && part !== false && part != null);
      return (
        parts.length > 0 &&
        html`<dt>${name}</dt>
          <dd>
            ${parts.map((part) => html`<bdi>${part}</bdi>`)}
            ${isInferred === true && html`<span class="inferred">inferred</span>`}
          </dd>`
      );
    })}
  </dl>`;
}

interface TableProps {
  readonly kind: 'parameters' | 'cells';
  readonly label: string;
  readonly heads: readonly unknown[];
  readonly rows: readonly (readonly unknown[])[];
}

/** Shows a table whose rows start with a heading. */
export function Table({ kind, label, heads, rows }: TableProps) {
  return html`<div class="table-place" tabindex="0" role="region" aria-label=${label}>
    <table class=${kind}>
      <thead>
        <tr>
          ${heads.map((head) => html`<th scope="col">${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ([first, ...cells]) =>
            html`<tr>
              <th scope="row">${first}</th>
              ${cells.map((cell) => html`<td>${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** Links to the other pages of a long list. */
export function pages({ items, total, next }: List<unknown>) {
  const offset = Number(currentRoute().parameters.get('offset'));
  const link = (words: string, at: number) =>
    html`<a class="quiet" href=${hrefWith({ offset: String(at) })}>${words}</a>`;
  return html`<nav class="list-bar" aria-label="Pages" hidden=${items.length === total}>
    <span class="count">
      ${number(offset + 1)} to ${number(offset + items.length)} of ${number(total)}
    </span>
    ${offset > 0 && link('Previous', Math.max(0, offset - ROWS))}
    ${next !== null && link('Next', offset + ROWS)}
  </nav>`;
}

/** Shows a text as it is, or data as JSON. */
export function pre(label: string, content: unknown) {
  return html`<pre tabindex="0" aria-label=${label}>
${typeof content === 'string' ? content : JSON.stringify(content, null, 2)}</pre>`;
}

export function fold(summary: unknown, content: unknown, isOpen = false) {
  return html`<details open=${isOpen}>
    <summary>${summary}</summary>
    ${content}
  </details>`;
}

/** Number of characters of a long text that are shown at first. */
const SHOWN = 600;

/** Shows a text. Only the start of a long text is shown until a user unfolds it. */
export function prose(text: string) {
  return html`<div class="prose">
    ${text.length <= SHOWN ? text : fold(`${text.slice(0, SHOWN)} …`, text.slice(SHOWN))}
  </div>`;
}

interface BarsProps {
  readonly label: string;
  /** The number of bars that fit. Fewer bars are shown on the right. */
  readonly places: number;
  /** The labels of the axis: its start and its end. */
  readonly ends?: readonly string[];
  /** Bars in the same place are drawn on top of each other. */
  readonly bars: readonly (readonly { readonly value: number; readonly failed: boolean }[])[];
}

/** Shows numbers as bars. */
export function Bars({ label, places, bars, ends = [] }: BarsProps) {
  const most = Math.max(1, ...bars.flat().map(({ value }) => value));
  return html`<figure class="chart">
    <svg viewBox="0 0 ${places} 1" preserveAspectRatio="none" role="img" aria-label=${label}>
      ${bars.map((place, index) =>
        place.map(
          ({ value, failed }) =>
            html`<rect
              x=${places - bars.length + index}
              y=${1 - value / most}
              width="0.8"
              height=${value / most}
              class=${failed ? 'call failed' : 'call'}
            />`,
        ),
      )}
    </svg>
    <figcaption><span>${ends[0]}</span><span>${label}</span><span>${ends[1]}</span></figcaption>
  </figure>`;
}

/** Returns the `ref` of an element that gets the focus when `isOpen` becomes true. */
export function useFocus(isOpen: boolean) {
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isOpen) place.current!.focus();
  }, [isOpen]);
  return place;
}

/**
 * Returns a function that performs a user's action, a flag that is true while an action is running,
 * and an element that shows why the last action failed.
 */
export function useAction() {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const act = (work: () => Promise<void>) => {
    setBusy(true);
    // `work` runs inside the promise, because parsing the user's JSON may throw.
    const running = Promise.resolve().then(work);
    const failed = (error: Error) =>
      error instanceof SyntaxError ? "This isn't valid JSON." : error.message;
    void running.then(() => '', failed).then((text) => (setProblem(text), setBusy(false)));
  };
  const alert = problem !== '' && html`<p class="problem" role="alert">${problem}</p>`;
  return { act, isBusy, alert };
}
