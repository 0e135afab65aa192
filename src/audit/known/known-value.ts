import type { CallEffect, EffectKind } from '../effect.js';

/** The known part of an argument's value, or `undefined` if nothing is known. */
export type KnownValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly KnownValue[]
  | { readonly [key: string]: KnownValue };

/**
 * Your own knowledge about calls and programs: `{calls: {'some-client.sync': 'write'}, programs:
 * {deployctl: 'unknown'}}`.
 */
export interface AuditKnowledge {
  /** The access of calls, by package and method or by the method alone. @default none */
  readonly calls?: Readonly<Record<string, 'read' | 'write' | 'none'>> | undefined;
  /** The access of programs, by name, or by name and subcommand. @default none */
  readonly programs?: Readonly<Record<string, 'read' | 'write' | 'unknown'>> | undefined;
}

export const reads = (kind: EffectKind, call: string): CallEffect => ({
  kind,
  access: 'read',
  destructive: false,
  idempotent: true,
  call,
});
export const writes = (
  kind: EffectKind,
  call: string,
  destructive: boolean | null = null,
  idempotent: boolean | null = null,
): CallEffect => ({ kind, access: 'write', destructive, idempotent, call });
export const undecided = (kind: EffectKind, call: string): CallEffect => ({
  kind,
  access: 'unknown',
  destructive: null,
  idempotent: null,
  call,
});

/** Returns the words of a list. */
export const wordsIn = (list: string): readonly string[] => list.trim().split(/\s+/);

/** Returns the words of a name in camelCase, snake_case or kebab-case, in lower case. */
export function wordsOfName(name: string): readonly string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}

/** Returns a field of a known value if the value is an object. */
export function fieldOf(value: KnownValue, key: string): KnownValue {
  return typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.hasOwn(value, key)
    ? (value as Readonly<Record<string, KnownValue>>)[key]
    : undefined;
}

/** Returns a field if its value is a string. */
export const textIn = (value: KnownValue, key: string): string | undefined => {
  const text = fieldOf(value, key);
  return typeof text === 'string' ? text : undefined;
};

/**
 * Returns a function that tests whether a package is in a list. `name*` matches all names that
 * start with it. A path inside a package belongs to the package.
 */
export function packagesIn(list: string): (name: string) => boolean {
  const exact = new Set(wordsIn(list));
  const starts = [...exact].filter((each) => each.endsWith('*')).map((each) => each.slice(0, -1));
  return (name) =>
    exact.has(
      name
        .split('/')
        .slice(0, name.startsWith('@') ? 2 : 1)
        .join('/'),
    ) || starts.some((start) => name.startsWith(start));
}
