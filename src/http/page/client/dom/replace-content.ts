import type { Child } from './element.js';

/**
 * Replaces the content of a place without the reader noticing: the focus and open parts are restored, and the place
 * stays scrolled where it was.
 *
 * Elements are recognized by `data-key`.
 */
export function replaceContent(place: HTMLElement, ...content: readonly Child[]): void {
  const { scrollTop } = place;
  const focused = place.contains(document.activeElement) ? keyOf(document.activeElement) : undefined;
  const open = new Map([...place.querySelectorAll<HTMLDetailsElement>('details[data-key]')].map((details) => [keyOf(details), details.open]));
  place.replaceChildren(...content.filter((child) => child !== null && child !== undefined && child !== false));
  for (const details of place.querySelectorAll<HTMLDetailsElement>('details[data-key]')) details.open = open.get(keyOf(details)) ?? details.open;
  if (focused !== undefined) [...place.querySelectorAll<HTMLElement>('[data-key]')].find((node) => keyOf(node) === focused)?.focus({ preventScroll: true });
  place.scrollTop = scrollTop;
}

function keyOf(node: Element | null): string | undefined {
  return node instanceof HTMLElement ? node.dataset['key'] : undefined;
}
