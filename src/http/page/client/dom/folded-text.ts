import { button, element } from './element.js';

/** Characters of a text that are shown before it is folded. */
const SHOWN = 600;
const KIB = 1024;

/** Shows a text of any length: the start of a long one, with a button for the rest. */
export function foldedText(text: string, key: string): HTMLElement {
  if (text.length <= SHOWN) return element('p', { class: 'prose' }, text);
  const paragraph = element('p', { class: 'prose' }, `${text.slice(0, SHOWN).trimEnd()} …`);
  const size = text.length < KIB ? `${text.length} characters` : `${(text.length / KIB).toFixed(1)} Ki characters`;
  const labels = { false: `Show all (${size})`, true: 'Show less' };
  const toggle = button(labels.false, () => {
    const open = toggle.getAttribute('aria-expanded') !== 'true';
    paragraph.textContent = open ? text : `${text.slice(0, SHOWN).trimEnd()} …`;
    toggle.setAttribute('aria-expanded', String(open));
    toggle.textContent = labels[`${open}`];
  }, { class: 'quiet', 'aria-expanded': 'false', 'data-key': key });
  return element('div', {}, paragraph, toggle);
}
