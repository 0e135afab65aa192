import { compareText } from '../../core/plain-data.js';
import { ownerKey } from '../manifest/persona.js';

interface Owned {
  readonly owner: string | null;
  readonly name: string;
}

/** The items of several owners, looked up by owner and name. */
export class OwnedNames<Item extends Owned> {
  readonly #byOwner = new Map<string, Map<string, Item>>();
  /** The items: shared ones first, then by persona and name, in any case. */
  readonly all: readonly Item[];

  /** @param items no two of which have the same owner and name. */
  constructor(items: readonly Item[]) {
    for (const item of items) {
      const key = ownerKey(item.owner);
      const owned = this.#byOwner.get(key) ?? new Map<string, Item>();
      this.#byOwner.set(key, owned.set(item.name, item));
    }
    this.all = Object.freeze(sortOwned(items));
  }

  /** Returns the item of exactly this owner. */
  own(owner: string | null, name: string): Item | undefined {
    return this.#byOwner.get(ownerKey(owner))?.get(name);
  }

  /** Returns the item that a name means to a persona: its own, or else the shared one. */
  seenBy(persona: string | null, name: string): Item | undefined {
    return this.own(persona, name) ?? this.own(null, name);
  }

  /** Returns all items that a persona sees: its own in place of shared ones of the same name. */
  allSeenBy(persona: string | null): readonly Item[] {
    const own = this.#byOwner.get(ownerKey(persona));
    const shared = this.#byOwner.get('');
    if (own === undefined || own === shared) return sortOwned([...(shared?.values() ?? [])]);
    return sortOwned([...new Map([...(shared ?? []), ...own]).values()]);
  }

  /** Returns the owners of items with this name. */
  ownersOf(name: string): readonly Item[] {
    return [...this.#byOwner.values()].flatMap((owned) => owned.get(name) ?? []);
  }
}

function sortOwned<Item extends Owned>(items: readonly Item[]): Item[] {
  const keys = new Map(items.map((item) => [item, [ownerKey(item.owner), item.name.toLowerCase()] as const]));
  return [...items].sort((a, b) => {
    const [ownerA, nameA] = keys.get(a)!;
    const [ownerB, nameB] = keys.get(b)!;
    return compareText(ownerA, ownerB) || compareText(nameA, nameB) || compareText(a.name, b.name);
  });
}
