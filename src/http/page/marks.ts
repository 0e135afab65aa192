import type { MetricsWire } from '../../capability/wire-types.js';
import { healthLevelOf } from '../values-on.js';
import type { ListedTool } from './wire.js';
import { element, type Child } from './element.js';

/** The headings of the marks that `factMarks` shows, in their order. */
export const FACT_HEADS = ['Access', 'Danger', 'Cost', 'Health'] as const;

/** Shows a tool's access, danger, cost and health as words; colour only underlines them. */
export function factMarks(tool: ListedTool): readonly HTMLElement[] {
  return [
    mark('access', tool.access_mode),
    mark('danger', tool.danger_level, tool.danger_level === 'safe' ? '' : ' danger'),
    mark('cost', tool.cost_tier, tool.cost_tier === 'free' ? '' : ' cost'),
    element(
      'span',
      { class: 'fact health', 'data-level': healthLevelOf(tool.health.tool.success_rate) },
      healthWords(tool.health.tool),
    ),
  ];
}

/** Shows what callers of the tool should know first; mostly nothing. */
export function noticeMarks(tool: ListedTool): readonly Child[] {
  return [
    tool.persona !== null &&
      element(
        'bdi',
        { class: 'tag owner', title: `belongs to the persona ${tool.persona}` },
        tool.persona,
      ),
    tool.requires_approval &&
      element('span', { class: 'tag', title: 'calls need approval' }, 'needs approval'),
    !tool.available &&
      element(
        'span',
        { class: 'tag warning', title: 'its availability check fails' },
        'unavailable',
      ),
    tool.health.tool.abandoned > 0 &&
      element(
        'span',
        { class: 'tag warning', title: 'calls whose work still ran when they were answered' },
        `${tool.health.tool.abandoned} abandoned`,
      ),
  ];
}

/** Returns the success rate in percent, or words if there is none. */
export function healthWords({ success_rate, total }: MetricsWire): string {
  return success_rate === null || total === 0 ? 'no calls' : `${percent(success_rate)} of ${total}`;
}

export function milliseconds(value: number | null): string {
  if (value === null) return '–';
  return value < 1_000
    ? `${value.toFixed(value < 10 ? 1 : 0)} ms`
    : `${(value / 1_000).toFixed(2)} s`;
}

/** Returns a share in percent, rounded down: 99.96 % with failures is not 100 %. */
function percent(share: number): string {
  return `${Math.floor(share * 1_000) / 10} %`;
}

/** Makes one mark. @param unit the meaning of the word, if no column says it. */
function mark(kind: string, level: string, unit = ''): HTMLElement {
  return element(
    'span',
    { class: `fact ${kind}`, 'data-level': level },
    level,
    unit !== '' && element('span', { class: 'unit' }, unit),
  );
}
