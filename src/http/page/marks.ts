import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { healthLevelOf } from '../values-on.js';
import type { Metrics, Tool } from './api.js';

/** Shows a tool's access, danger, cost and health as words. Colour is only an additional cue. */
export function FactMarks({ tool }: { readonly tool: Tool }) {
  const { access_mode: access, danger_level: danger, cost_tier: cost, health } = tool;
  const unit = (word: string) => html`<span class="unit"> ${word}</span>`;
  return html`
    <span class="fact access" data-level=${access}>${access}</span>
    <span class="fact danger" data-level=${danger}
      >${danger}${danger !== 'safe' && unit('danger')}</span
    >
    <span class="fact cost" data-level=${cost}>${cost}${cost !== 'free' && unit('cost')}</span>
    <span class="fact health" data-level=${healthLevelOf(health.tool.success_rate)}
      >${healthWords(health.tool)}</span
    >
  `;
}

/** Shows the facts that callers of the tool should know first. Usually there are none. */
export function NoticeMarks({ tool }: { readonly tool: Tool }) {
  const { persona, requires_approval: approval, available, health } = tool;
  const { abandoned } = health.tool;
  return html`
    ${persona !== null && html`<bdi class="tag owner" title="belongs to the persona ${persona}">${persona}</bdi>`}
    ${approval && html`<span class="tag" title="calls need approval">needs approval</span>`}
    ${!available && html`<span class="tag warning" title="its availability check fails">unavailable</span>`}
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
 * Returns the success rate in percent, or "no calls". Rounds down, because 99.96 % with failures
 * isn't 100 %.
 */
export function healthWords({ success_rate: rate, total }: Metrics): string {
  return rate === null || total === 0
    ? 'no calls'
    : `${Math.floor(rate * 1_000) / 10} % of ${total}`;
}

export function milliseconds(value: number | null): string {
  if (value === null) return '–';
  return value < 1_000
    ? `${value.toFixed(value < 10 ? 1 : 0)} ms`
    : `${(value / 1_000).toFixed(2)} s`;
}

export const number = (value: number) => value.toLocaleString('en');

/** Number of characters shown of a long text. */
const SHOWN = 600;
const KIB = 1024;

/** Shows a text. A long text is cut, with a button that shows all of it. */
export function FoldedText({ text }: { readonly text: string }) {
  const [isOpen, setOpen] = useState(false);
  if (text.length <= SHOWN) return html`<p class="prose">${text}</p>`;
  const size =
    text.length < KIB
      ? `${text.length} characters`
      : `${(text.length / KIB).toFixed(1)} Ki characters`;
  return html`<div>
    <p class="prose">${isOpen ? text : `${text.slice(0, SHOWN).trimEnd()} …`}</p>
    <button
      type="button"
      class="quiet"
      aria-expanded=${String(isOpen)}
      onClick=${() => setOpen(!isOpen)}
    >
      ${isOpen ? 'Show less' : `Show all (${size})`}
    </button>
  </div>`;
}
