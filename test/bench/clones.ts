import type { BenchTool } from './retrieval-sets.js';

const REPLACED = 0.25;

/**
 * Returns the tools and enough clones to reach the given number. In each clone, a quarter of the
 * description's words are replaced, and the name gets the round as a suffix.
 *
 * Replacements are drawn from the words of all descriptions, so word frequencies stay the same, and
 * common words stay expensive for an index. The same seed gives the same clones.
 */
export function* withClones(
  tools: readonly BenchTool[],
  count: number,
  seed = 20_260_101,
): Generator<BenchTool> {
  const random = seededRandom(seed);
  const vocabulary = tools.flatMap(({ description }) => wordsOf(description));
  const another = () => vocabulary[Math.floor(random() * vocabulary.length)]!;
  for (let index = 0; index < count; index++) {
    const tool = tools[index % tools.length]!;
    const round = Math.floor(index / tools.length);
    if (round === 0) yield tool;
    else
      yield {
        ...tool,
        id: `${tool.id}_${round}`,
        name: `${tool.name}_${round}`,
        description: wordsOf(tool.description)
          .map((word) => (random() < REPLACED ? another() : word))
          .join(' '),
      };
  }
}

function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

/** Returns numbers from 0 to below 1 that are the same in every process (the mulberry32 generator). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
