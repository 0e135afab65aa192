import { relative, sep } from 'node:path';
import type { CallEffect, Effect } from '../effect.js';
import { builtinEffects } from '../known/builtins.js';
import { httpEffects } from '../known/http.js';
import type { KnownValue } from '../known/known-value.js';
import { programEffects } from '../known/programs.js';
import type { Scratch } from './scratch.js';

/** A recorded call of a Node built-in, before its effect is determined. */
export interface Seen {
  readonly module: string;
  readonly path: readonly string[];
  /** The plain data in the call's arguments. */
  readonly args: readonly KnownValue[];
  /** The real paths that a call of fs would write to. */
  readonly targets: readonly string[];
  /** True if the call wasn't carried out because it would write outside the tool's folder. */
  readonly refused: boolean;
  /** The functions on the stack as `file:line`, innermost first, without Node's own functions. */
  readonly frames: readonly string[];
}

/** The recorder's settings in a process that runs tools for an audit. */
export type Confinement = Pick<Scratch, 'folder' | 'record' | 'sink'>;

/** The environment variable that contains the `Confinement`. The recorder removes this variable. */
export const CONFINEMENT = 'TOOLDEX_AUDIT_CONFINEMENT';

/** The folders with the audited code. */
type Subject = readonly string[];

/**
 * Returns the effects of a recorded call. The certainty of these effects is `does`, because they
 * were observed.
 */
export function effectsOfSeen(seen: Seen, subject: Subject): readonly Effect[] {
  const place = placesIn(seen.frames, subject);
  return callEffects(seen).map((effect) => ({ ...effect, certainty: 'does', ...place }));
}

function callEffects({ module, path, args, targets }: Seen): readonly CallEffect[] {
  const [first, second, third] = args;
  const text = (value: KnownValue) => (typeof value === 'string' ? value : undefined);
  if (module === 'child_process')
    return programEffects(text(first) ?? '', Array.isArray(second) ? second.map(text) : []);
  if (isRequest(module, path)) return httpEffects(text(first), text(second), third);
  // The flags may be numbers, so the call's targets are used to see whether it writes.
  if (module === 'fs' && /^open(?:Sync)?$/.test(path.at(-1)!)) {
    const flags = targets.length === 0 ? 'r' : (text(second) ?? 'w');
    return builtinEffects(module, path, [first, flags])!;
  }
  return builtinEffects(module, path, args) ?? [];
}

/**
 * Returns the innermost place in the audited code and the path to it. For a call made by a package
 * alone, returns the place in the package.
 */
function placesIn(frames: readonly string[], subject: Subject): Pick<Effect, 'at' | 'via'> {
  const inPackages = `${sep}node_modules${sep}`;
  const own = frames.flatMap((frame) => {
    const folder = subject.find((each) => frame.startsWith(each + sep));
    const place = folder === undefined ? undefined : relative(folder, frame);
    return place === undefined || `${sep}${place}`.includes(inPackages) ? [] : [place];
  });
  const [outer = 'unknown:0'] = frames;
  const isInPackage = outer.includes(inPackages);
  const foreign = outer.slice(
    outer.lastIndexOf(isInPackage ? 'node_modules' : sep) + +!isInPackage,
  );
  const [at = foreign, ...rest] = [...new Set(own)].map((place) => place.split(sep).join('/'));
  return { at, via: rest.reverse() };
}

/** An observed HTTP request, or another use of the network. */
export interface SeenHost {
  readonly host: string;
  readonly methods: readonly string[];
}

const isRequest = (module: string, path: readonly string[]) =>
  module === 'http' || path[0] === 'fetch';
const NETWORK: readonly string[] = ['http', 'net', 'tls', 'dgram', 'dns', 'http2', 'global'];

/** Returns the hosts in records, with the methods of their requests. */
export function hostsIn(records: readonly Seen[]): readonly SeenHost[] {
  const hosts = new Map<string, Set<string>>();
  for (const { module, path, args } of records) {
    const [method, place] = isRequest(module, path) ? args : [undefined, args[0]];
    if (!NETWORK.includes(module) || typeof place !== 'string') continue;
    const host = URL.canParse(place) && place.includes('//') ? new URL(place).hostname : place;
    const methods = hosts.get(host) ?? new Set();
    hosts.set(host, typeof method === 'string' ? methods.add(method) : methods);
  }
  return [...hosts].map(([host, methods]) => ({ host, methods: [...methods].sort() }));
}

/** Returns effects without duplicates: each kind of change at each place occurs once. */
export function distinctEffects(effects: readonly Effect[]): readonly Effect[] {
  const seen = new Set<string>();
  return effects.filter(({ kind, access, call, at }) => {
    const key = JSON.stringify([kind, access, call, at]);
    return !seen.has(key) && seen.add(key);
  });
}
