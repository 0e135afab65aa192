/** The actions that keys trigger. */
interface KeyActions {
  readonly search: () => void;
  readonly move: (by: number) => void;
  readonly close: () => void;
  /** The search field. */
  readonly field: { readonly current: HTMLElement | null };
}

/**
 * Listens to keys until the returned function is called. `/` focuses the search field, the arrows,
 * `j` and `k` move through the list, and Escape closes a tool. Enter opens a tool without extra
 * code, because rows are links.
 */
export function listenToKeys(actions: KeyActions): () => void {
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const act = actionOf(event.key, event.target as HTMLElement, actions);
    if (act === undefined) return;
    event.preventDefault();
    act();
  };
  document.addEventListener('keydown', onKey);
  return () => document.removeEventListener('keydown', onKey);
}

function actionOf(key: string, target: HTMLElement, { search, move, close, field }: KeyActions) {
  if (key === 'Escape') return close;
  if (key === 'ArrowDown' && target === field.current) return () => move(1);
  if (target.matches('select, textarea, input:not([type="checkbox"])')) return undefined;
  if (key === '/') return search;
  if (key === 'j') return () => move(1);
  if (key === 'k') return () => move(-1);
  // Outside the list, arrows scroll as usual.
  const inList = target.classList.contains('row-link');
  if (key === 'ArrowDown' && (inList || target === document.body)) return () => move(1);
  return key === 'ArrowUp' && inList ? () => move(-1) : undefined;
}
