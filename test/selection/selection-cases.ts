import {
  selectTools,
  type Selection,
  type SelectionRequest,
  type ToolMetadataRegistry,
} from '../../src/index.js';
import type { DropReason } from '../../src/selection/selection.js';

/** Returns the names of the selected tools, in order. */
export function chosen({ tools }: Selection): string[] {
  return tools.map(({ toolName }) => toolName);
}

/** Returns the reasons why tools were dropped, by name. */
export function droppedBecause({ dropped }: Selection): Record<string, DropReason> {
  return Object.fromEntries(dropped.map(({ toolName, reason }) => [toolName, reason]));
}

/** Returns the selected tools as a model receives them, with one text per tool. */
export function bytes({ tools }: Selection): string[] {
  return tools.map(({ rendered }) => JSON.stringify(rendered));
}

/** Returns all plain data of a selection as text. */
export function asText({
  tools,
  dropped,
  tokens,
  tokenBudget,
  maxTools,
  error,
}: Selection): string {
  return JSON.stringify({
    tools: tools.map(({ entry: _entry, ...tool }) => tool),
    dropped,
    tokens,
    tokenBudget,
    maxTools,
    error: error && [error.code, error.message, error.details],
  });
}

/** A request whose search results are a fixed list. */
export type ListedRequest = Partial<SelectionRequest> & {
  readonly ranking?: readonly { readonly toolName: string; readonly score: number }[];
};

/** Makes a selection for a text without search hits, unless the request says otherwise. */
export function select(
  registry: ToolMetadataRegistry,
  { ranking, ...request }: ListedRequest = {},
): Selection {
  return selectTools(ranking === undefined ? registry : finding(registry, ranking), {
    text: 'qqq',
    ...request,
  });
}

/** Returns the registry with fixed search results. */
function finding(
  registry: ToolMetadataRegistry,
  ranking: NonNullable<ListedRequest['ranking']>,
): ToolMetadataRegistry {
  const search: ToolMetadataRegistry['search'] = (_text, { limit = 10, filter } = {}) =>
    ranking
      .filter(({ toolName }) => typeof filter !== 'function' || filter(registry.require(toolName)))
      .slice(0, limit)
      .map((result) => ({
        ...result,
        matches: [],
        corrections: [],
        truncated: false,
        explanation: 'listed',
      }));
  return new Proxy(registry, {
    get: (target, key) => {
      if (key === 'search') return search;
      const member: unknown = Reflect.get(target, key, target);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}

/** Options that are harmless on every axis. */
export const HARMLESS = Object.freeze({
  accessMode: 'readonly',
  dangerLevel: 'safe',
  costTier: 'free',
  sideEffects: 'none',
  executionCategory: 'compute',
});

/** A schema with a required and an optional parameter, each with a long description. */
export const LONG_SCHEMA = Object.freeze({
  type: 'object',
  properties: {
    city: {
      type: 'string',
      description: `The city. ${'It may be written in any language. '.repeat(6)}`,
    },
    unit: {
      type: 'string',
      enum: ['c', 'f'],
      default: 'c',
      description: `The unit. ${'It may be left out at any time. '.repeat(6)}`,
    },
  },
  required: ['city'],
  additionalProperties: false,
});

/** Returns options of a tool that gets several times shorter at each level. */
export function long(
  name: string,
  options: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return {
    name,
    description: `Forecasts the weather. ${'It asks a service for that, and waits for the answer. '.repeat(8)}`,
    inputSchema: LONG_SCHEMA,
    ...options,
  };
}

/** Returns a tool's token cost at each level, with the default token count. */
export function costs(
  registry: ToolMetadataRegistry,
  name: string,
): { full: number; compact: number; stub: number } {
  const request = {
    include: [name],
    filter: { name },
    countTokens: (text: string) => Math.ceil(text.length / 4),
  };
  const full = select(registry, request).tokens;
  const compact = select(registry, { ...request, tokenBudget: full - 1 }).tokens;
  return { full, compact, stub: select(registry, { ...request, tokenBudget: compact - 1 }).tokens };
}
