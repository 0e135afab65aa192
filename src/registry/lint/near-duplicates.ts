/** The minimum similarity of two texts that count as almost the same. */
const NEARLY = 0.8;
/**
 * The maximum number of earlier texts compared with one text for each rare word. The limit keeps
 * the time linear if all texts are alike.
 */
const MOST_COMPARED = 100;

/**
 * Finds, for each text, the first earlier text with almost the same words (a Jaccard similarity of
 * at least 0.8), and returns its index.
 *
 * Two texts this similar have at least one of their rarest words in common, so only such texts are
 * compared.
 *
 * @param meet Returns true if an earlier text and a later text are ever seen together.
 */
export function nearDuplicates(
  texts: readonly ReadonlySet<string>[],
  meet: (earlier: number, later: number) => boolean = () => true,
): ReadonlyMap<number, number> {
  const frequency = new Map<string, number>();
  for (const words of texts)
    for (const word of words) frequency.set(word, (frequency.get(word) ?? 0) + 1);
  const found = new Map<number, number>();
  const seen = new Map<string, number[]>();
  for (const [index, words] of texts.entries()) {
    const rarest = [...words]
      .sort((a, b) => frequency.get(a)! - frequency.get(b)! || (a < b ? -1 : 1))
      .slice(0, words.size - Math.ceil(NEARLY * words.size) + 1);
    const [first] = [...new Set(rarest.flatMap((word) => seen.get(word) ?? []))]
      .filter((other) => similarity(texts[other]!, words) >= NEARLY && meet(other, index))
      .sort((a, b) => a - b);
    if (first !== undefined) found.set(index, first);
    for (const word of rarest) {
      const same = seen.get(word) ?? [];
      if (same.length < MOST_COMPARED) seen.set(word, [...same, index]);
    }
  }
  return found;
}

/**
 * Returns the Jaccard index: the number of shared words divided by the number of distinct words in
 * both sets.
 */
function similarity(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  const common = [...one].filter((word) => other.has(word)).length;
  return common / (one.size + other.size - common);
}
