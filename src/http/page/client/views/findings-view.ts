import type { WireFinding, WireFindings } from '../data/wire.js';
import { button, element, type Child } from '../dom/element.js';
import { formatRoute } from '../state/route.js';
import type { References } from './work-views.js';

const ORDER = ['error', 'warning', 'info'];
const TITLES: Readonly<Record<string, string>> = { error: 'Errors', warning: 'Warnings', info: 'Notes' };

/** Shows the problems in manifests and metadata, the worst first, with where to fix them; further ones come on demand. */
export function findingsView({ findings, severities, total, next }: WireFindings, references: References, onMore: () => void): readonly Child[] {
  if (findings.length === 0) return [element('p', { class: 'empty' }, 'Nothing to fix: every entry is valid, and every reference leads somewhere.')];
  const shown = [...new Set([...ORDER, ...findings.map(({ severity }) => severity)])];
  return [
    ...shown.flatMap((severity) => {
      const these = findings.filter((finding) => finding.severity === severity);
      if (these.length === 0) return [];
      const title = Object.hasOwn(TITLES, severity) ? TITLES[severity] : severity;
      const count = Object.hasOwn(severities, severity) ? severities[severity]! : these.length;
      return [
        element('h2', { class: 'findings-title' }, `${title} `, element('span', { class: 'count' }, count.toLocaleString('en'))),
        element('ul', { class: 'findings', 'data-level': severity }, ...these.map((finding) => findingRow(finding, references))),
      ];
    }),
    next !== null && button(`Show more (${(total - findings.length).toLocaleString('en')} left)`, onMore, { class: 'quiet', 'data-key': 'more-findings' }),
  ];
}

function findingRow(finding: WireFinding, { route, ownerOfTool }: References): HTMLElement {
  const name = finding.name ?? null;
  const owner = name === null ? undefined : (finding.persona ?? ownerOfTool(name));
  return element(
    'li',
    { class: 'finding' },
    element(
      'div',
      { class: 'finding-head' },
      name !== null && (owner === undefined ? element('bdi', { class: 'finding-name' }, name) : element('a', { class: 'finding-name', href: formatRoute({ ...route, view: 'tools', name, owner }) }, name)),
      element('span', { class: 'muted' }, finding.rule ?? finding.kind ?? ''),
    ),
    element('p', {}, finding.message),
    placeOf(finding) !== '' && element('p', { class: 'place' }, element('bdi', {}, placeOf(finding))),
  );
}

/** Returns `file:line:column /pointer`, as editors and terminals open it. */
function placeOf({ source, line, column, path }: WireFinding): string {
  if (source === undefined || source === null || source === 'code') return '';
  const position = [source, line, column].filter((part) => part !== null && part !== undefined).join(':');
  return path === undefined || path === null || path === '' ? position : `${position}  ${path}`;
}
