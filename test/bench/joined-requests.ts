import { selectTools, type ToolMetadataRegistry } from '../../src/index.js';
import { mean } from './metrics.js';
import type { BenchQuery, BenchSet } from './retrieval-sets.js';

/** The number of pairs per set and seed. */
const PAIRS = 200;

/** Ways in which people join two requests. */
export const JOINTS = {
  'and then': (one: string, other: string) => `${bare(one)}. And then: ${other}`,
  and: (one: string, other: string) => `${bare(one)} and ${lowered(other)}`,
  'two sentences': (one: string, other: string) => `${bare(one)}. ${other}`,
} as const;

/**
 * Returns the share of joined requests for which a wanted tool of each half is offered. The halves
 * are drawn at random from a set's requests, and want different tools.
 */
export function measureJoined(
  registry: ToolMetadataRegistry,
  { queries }: BenchSet,
  nameOf: ReadonlyMap<string, string>,
  join: (one: string, other: string) => string,
  seed: number,
  limits: { readonly maxTools: number; readonly tokenBudget: number },
): number {
  const random = randomFrom(seed);
  const labelled = queries.filter(({ relevant }) => relevant.length > 0);
  const draw = () => labelled[Math.floor(random() * labelled.length)]!;
  return mean(
    Array.from({ length: PAIRS }, () => {
      const one = draw();
      let other = draw();
      while (other.relevant.some((id) => one.relevant.includes(id))) other = draw();
      const { tools } = selectTools(registry, { text: join(one.text, other.text), ...limits });
      const offered = new Set(tools.map(({ toolName }) => toolName));
      const isServed = ({ relevant }: BenchQuery) =>
        relevant.some((id) => offered.has(nameOf.get(id)!));
      return isServed(one) && isServed(other) ? 1 : 0;
    }),
  );
}

function bare(text: string): string {
  return text.trim().replace(/[.!?\s]+$/u, '');
}

function lowered(text: string): string {
  return text.trim().replace(/^\p{Lu}(?=\p{Ll}|\s)/u, (letter) => letter.toLowerCase());
}

/** A small generator of numbers from 0 to 1 (mulberry32), so that every run draws the same pairs. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
