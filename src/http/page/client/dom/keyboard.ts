/** The actions of keys on the page. */
export interface KeyActions {
  readonly search: () => void;
  readonly move: (by: number) => void;
  readonly close: () => void;
  /** Returns true if the search field has the focus. */
  readonly isSearching: () => boolean;
}

/**
 * Listens to keys: `/` searches, arrows and `j` `k` walk through the list, Escape closes. Enter opens because rows are
 * links.
 */
export function listenToKeys(document: Document, actions: KeyActions): void {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const target = event.target instanceof HTMLElement ? event.target : document.body;
    const writes = target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement || (target instanceof HTMLInputElement && target.type !== 'checkbox');
    const act = actionOf(event.key, writes, actions, target);
    if (act === undefined) return;
    event.preventDefault();
    act();
  });
}

function actionOf(key: string, writes: boolean, actions: KeyActions, target: HTMLElement): (() => void) | undefined {
  if (key === 'Escape') return actions.close;
  if (key === 'ArrowDown' && actions.isSearching()) return () => actions.move(1);
  if (writes) return undefined;
  if (key === '/') return actions.search;
  if (key === 'j') return () => actions.move(1);
  if (key === 'k') return () => actions.move(-1);
  // Elsewhere arrows scroll, as users expect.
  const inList = target.classList.contains('row-link');
  if (key === 'ArrowDown' && (inList || target === target.ownerDocument.body)) return () => actions.move(1);
  if (key === 'ArrowUp' && inList) return () => actions.move(-1);
  return undefined;
}
