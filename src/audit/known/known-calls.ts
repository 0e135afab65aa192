import { z } from 'zod';
import type { FieldsOf } from '../../core/options.js';
import type { CallEffect, EffectKind } from '../effect.js';

import type { Members } from '../evaluate/members.js';
import { HOLE, type OutsideValue, textsOf, type Values } from '../evaluate/values.js';
import { graphqlAccess, requestEffects } from './http.js';
import { HTTP_CLIENTS, PAYMENTS, ROWS, SQL_CLIENTS, type Row } from './packages.js';
import { programEffects, shellEffects } from './programs.js';
import { sqlEffects } from './sql.js';
import { verbOf, wordsIn } from './words.js';

/** Your own words on calls and programs that the tables don't know, or get wrong. */
export interface AuditKnowledge {
  /** The effects of calls, by package and name: `{ 'ledger-client.sync': 'write' }`. */
  readonly calls?: Readonly<Record<string, 'read' | 'write' | 'none'>> | undefined;
  /** The effects of programs, by their first words: `{ 'deployctl status': 'read' }`. */
  readonly programs?: Readonly<Record<string, 'read' | 'write'>> | undefined;
}

/** The option that says what your own calls and programs do. */
export const knowledge = z.strictObject({
  calls: z.record(z.string(), z.enum(['read', 'write', 'none'])).optional(),
  programs: z.record(z.string(), z.enum(['read', 'write'])).optional(),
} satisfies FieldsOf<AuditKnowledge>);

/** A call of something in a package. */
interface OutsideCall extends OutsideValue {
  readonly given: readonly Values[];
  readonly isNew: boolean;
}

type Effects = readonly CallEffect[];

/** Says what calls of packages do. `undefined` means that nothing is known. */
export class KnownCalls {
  constructor(
    readonly members: Members,
    readonly known: AuditKnowledge = {},
  ) {}

  effectsOf(call: OutsideCall): Effects | undefined {
    return this.#byUser(call) ?? this.#special(call) ?? byTable(call);
  }

  #byUser(call: OutsideCall): Effects | undefined {
    const { calls = {} } = this.known;
    const key = [callName(call), `${call.pkg}.${nameOf(call)}`].find((each) =>
      Object.hasOwn(calls, each),
    );
    if (key === undefined) return undefined;
    const access = calls[key]!;
    return access === 'none' ? [] : [{ kind: 'known', access, call: key }];
  }

  #special(call: OutsideCall): Effects | undefined {
    const { pkg } = call;
    const name = nameOf(call);
    if (pkg === 'global') return this.#global(call);
    if (pkg === 'fs' || pkg === 'fs-extra' || pkg === 'graceful-fs') return this.#file(call);
    if (pkg === 'child_process') return this.#program(call, /^exec(?:Sync)?$/.test(name));
    if (
      /^(?:execa|cross-spawn|tinyexec|nano-spawn)$/.test(pkg) &&
      !/^(?:on|then|kill|pipe)$/.test(name)
    )
      return this.#program(call, /Command/.test(name));
    if (pkg === 'zx' || pkg === 'shelljs') return this.#shell(call);
    if (/^https?$/.test(pkg) && name === 'request') return this.#request(call, 0);
    if (HTTP_CLIENTS.has(pkg)) return this.#http(call);
    if (SQL_CLIENTS.has(pkg) || pkg === 'sqlite') return this.#sql(call);
    if (/^@(?:aws-sdk|smithy)\//.test(pkg) && name === 'send') return this.#command(call);
    if (
      pkg.startsWith('@aws-sdk/') &&
      (call.isNew || /^(?:\w+Client|destroy|getSignedUrl|from\w*)$/.test(name))
    )
      return [];
    if (/^(?:@octokit\/|graphql-request|@apollo\/client|urql)/.test(pkg))
      return this.#graphql(call, name);
    if (/^mongo/.test(pkg) && name === 'aggregate') return [this.#aggregate(call)];
    return undefined;
  }

  #global(call: OutsideCall): Effects | undefined {
    const name = nameOf(call);
    const [owner = ''] = call.path;
    if (owner === 'fetch') return this.#request(call, 1);
    if (/^set(?:Timeout|Interval|Immediate)$/.test(owner))
      return call.given[0]?.every((each) => each.is === 'function' || each.is === 'outside')
        ? []
        : undefined;
    const label = callName(call);
    if (
      /^(?:DateConstructor\.now|Performance\.now|performance\.now|Date)$/.test(
        label.replace(/^global\./, ''),
      )
    )
      return call.given.length === 0 ? [effect('time', 'read', label)] : [];
    if (/^(?:process|Process|NodeJS\.Process)\b/.test(call.path.join('.')))
      return this.#process(call, label);
    if (/^Storage$/.test(owner))
      return [effect('memory', /^(?:get|key)/.test(name) ? 'read' : 'write', label)];
    return QUIET_GLOBALS.test(owner) && !/^(?:constructor|__define\w+__)$/.test(name)
      ? []
      : undefined;
  }

  /** Returns the effect of a method of `process`. Ending a program that the code started itself changes nothing. */
  #process(call: OutsideCall, label: string): Effects | undefined {
    const isOwnChild =
      call.given[0]?.every((each) => each.is === 'outside' && each.pkg === 'child_process') ??
      false;
    return nameOf(call) === 'kill' && isOwnChild ? [] : processEffects(nameOf(call), label);
  }

  #file(call: OutsideCall): Effects | undefined {
    const name = nameOf(call).replace(/Sync$/, '');
    const temporary = isTemporary(call.given[0]) ? { temporary: true } : {};
    if (name === 'open' || name === 'openAsBlob')
      return [{ ...opening(call.given[1], callName(call)), ...temporary }];
    const flag =
      this.#field(call, call.given.length - 1, 'flag') ??
      this.#field(call, call.given.length - 1, 'flags');
    if (flag !== undefined && !isOnly(flag, undefined)) return [opening(flag, callName(call))];
    const deletes = /^(?:rm|rmdir|unlink|remove|emptyDir|truncate)$/.test(name);
    return byTable(call)?.map((each) => ({
      ...each,
      ...temporary,
      ...(deletes && each.access === 'write' && { deletes }),
    }));
  }

  #field(call: OutsideCall, at: number, name: string): Values | undefined {
    const values = call.given[at];
    if (values === undefined || values.some((each) => each.is !== 'object')) return undefined;
    return this.members.field(values, name);
  }

  #program(call: OutsideCall, isShell: boolean): Effects | undefined {
    const name = nameOf(call);
    const [program, list, options] = call.given;
    if (program === undefined || byQuiet(call)) return byTable(call);
    const texts = textsOf(program);
    if (program.some((each) => each.is === 'any' && each.input === true))
      return [effect('program', 'write', `${callName(call)} of what the caller passes`)];
    const usesShell = [list, options].some((each) =>
      each?.some(
        (one) => one.is === 'object' && !isOnly(this.members.field([one], 'shell'), undefined),
      ),
    );
    if (isShell || (usesShell && list?.[0]?.is !== 'object'))
      return texts.flatMap((text) => this.#commands(shellEffects(text), text));
    if (/^(?:on|once|kill|unref|ref|disconnect|send)$/.test(name)) return byTable(call);
    const words = list === undefined ? [] : this.members.words(list);
    return texts.flatMap((text) =>
      this.#commands(
        programEffects([name === 'fork' ? 'node' : text, ...words]),
        [text, ...words].join(' '),
      ),
    );
  }

  /** Replaces effects of programs that the user knows. */
  #commands(effects: Effects, line: string): Effects {
    const { programs = {} } = this.known;
    const key = Object.keys(programs).find((each) => `${line} `.startsWith(`${each} `));
    return key === undefined ? effects : [effect('program', programs[key]!, key)];
  }

  #shell(call: OutsideCall): Effects | undefined {
    const name = nameOf(call);
    if (/^(?:\$|exec)$/.test(name))
      return textsOf(call.given[0] ?? []).flatMap((text) =>
        this.#commands(shellEffects(text), text),
      );
    return programEffects([name]);
  }

  /** Returns the effect of a request whose options are the first or second argument. */
  #request(call: OutsideCall, at: number, method?: string): Effects {
    const [first = [], second] = call.given;
    const made = first.find(
      (each): each is OutsideValue => each.is === 'outside' && each.args !== undefined,
    );
    const url = textsOf(made?.args?.[0] ?? first)[0] ?? HOLE;
    const isConfig = first.every((each) => each.is === 'object') && first.length > 0;
    const options = isConfig
      ? first
      : (made?.args?.[1] ??
        (at === 0
          ? call.given.slice(1).find((each) => each.some((one) => one.is === 'object'))
          : second));
    const address = isConfig ? (textsOf(this.members.field(first, 'url'))[0] ?? HOLE) : url;
    const methods = method === undefined ? this.#texts(options, 'method', 'GET') : [method];
    const body =
      options === undefined
        ? []
        : ['body', 'data', 'json'].flatMap((each) => this.members.field(options, each));
    return requestEffects(methods, address, this.#queryIn(body));
  }

  #texts(values: Values | undefined, name: string, missing: string): readonly string[] {
    if (values === undefined || isOnly(values, undefined)) return [missing];
    return this.members
      .field(values, name)
      .map((each) => (isOnly([each], undefined) ? missing : textsOf([each])[0]!));
  }

  /** Returns the text of the GraphQL query in a body, if there is one. */
  #queryIn(body: Values): string | undefined {
    const objects = body.filter((each) => each.is === 'object');
    const [text] = textsOf(objects.length === 0 ? body : this.members.field(objects, 'query'));
    return text === undefined || text === 'undefined' || text === HOLE ? undefined : text;
  }

  #http(call: OutsideCall): Effects | undefined {
    const name = nameOf(call);
    const isCalled =
      call.path.length === 0 ||
      /^(?:\(\)|default|request|stream|fetch|raw|\$fetch|ofetch|axios|got|ky|AxiosInstance|AxiosStatic|Axios|Got|KyInstance|native)$/.test(
        call.path.at(-1) ?? 'default',
      );
    const method = name.replace(/^del$/, 'delete').toUpperCase();
    if (/^(?:GET|HEAD|OPTIONS|POST|PUT|PATCH|DELETE|POSTFORM|PUTFORM|PATCHFORM)$/.test(method))
      return this.#body(call, method.replace('FORM', ''));
    if (name === 'query' && call.given.length < 2) return [];
    return isCalled && !call.isNew
      ? this.#request(call, 1)
      : QUIET_HTTP.test(name) || call.isNew
        ? []
        : undefined;
  }

  /** Returns the effect of `client.post(url, body)`, whose body may also be in its options. */
  #body(call: OutsideCall, method: string): Effects {
    const [first = [], second = []] = call.given;
    const body = [
      ...second,
      ...second
        .filter((each) => each.is === 'object')
        .flatMap((each) =>
          ['json', 'body', 'data'].flatMap((name) => this.members.field([each], name)),
        ),
    ];
    return requestEffects(
      [method],
      textsOf(first)[0] ?? HOLE,
      this.#queryIn(body.filter((each) => each.is === 'object')),
    );
  }

  #sql(call: OutsideCall): Effects | undefined {
    const name = nameOf(call).toLowerCase();
    const tag = call.path.at(-1) ?? '';
    const isText = SQL_METHODS.has(name) || /^(?:sql|postgres|neon|\(\))$/.test(tag);
    if (!isText || call.isNew) return undefined;
    if (/Statement|prepare/.test(call.path.slice(0, -1).join('.'))) return [];
    const [first] = call.given;
    if (first === undefined)
      return name === 'query' || name === 'exec' || name === 'get' || name === 'all'
        ? []
        : undefined;
    if (name === 'get' && /^(?:mongoose|sequelize|typeorm)/.test(call.pkg)) return undefined;
    if (first.some((each) => each.is === 'any' && each.input === true))
      return [effect('database', 'write', `${callName(call)} of what the caller passes`)];
    const texts = first.flatMap((each) =>
      each.is === 'object'
        ? ['text', 'sql', 'query', 'sqlText'].flatMap((key) =>
            textsOf(this.members.field([each], key)),
          )
        : textsOf([each]),
    );
    return texts
      .filter((text) => text !== 'undefined')
      .flatMap((text) => sqlEffects(name === 'pragma' ? `PRAGMA ${text}` : text));
  }

  #command(call: OutsideCall): Effects {
    const names = (call.given[0] ?? []).map((each) =>
      each.is === 'outside' ? (each.path.find((part) => part.endsWith('Command')) ?? '') : '',
    );
    return names.map((name) => {
      const verb = verbOf(name.replace(/Command$/, ''));
      const label = `${call.pkg} ${name === '' ? 'send' : name}`;
      return effect(
        'network',
        name === '' ? 'unknown' : (verb?.access ?? 'write'),
        label,
        verb?.deletes,
      );
    });
  }

  #graphql(call: OutsideCall, name: string): Effects | undefined {
    const [text = HOLE] = textsOf(call.given[0] ?? []);
    if (
      /^(?:graphql|request|rawRequest|query)$/.test(name) &&
      call.pkg !== '@octokit/rest' &&
      /^\s*(?:query|mutation|\{|#|fragment)/.test(text)
    )
      return [effect('network', graphqlAccess(text), callName(call))];
    if (name !== 'request' && name !== 'paginate') return name === 'iterator' ? [] : undefined;
    const [first] = call.given[0] ?? [];
    // A method of the client may be passed instead of a route.
    if (first?.is === 'outside') return [];
    const [method = ''] = /^[A-Z]+(?= )/.exec(text) ?? (text.startsWith('/') ? ['GET'] : []);
    return requestEffects([method === '' ? HOLE : method], text.replace(/^[A-Z]+ /, ''), undefined);
  }

  #aggregate(call: OutsideCall): CallEffect {
    const stages = this.members.items(call.given[0] ?? []);
    const names = stages?.flatMap((stage) => stage.flatMap((each) => this.members.keys(each)));
    const access = names?.some((name) => /^\$(?:out|merge)$/.test(name))
      ? 'write'
      : names === undefined || names.includes(HOLE)
        ? 'unknown'
        : 'read';
    return effect('database', access, callName(call));
  }
}

/** The language's own things and Node's globals whose calls change nothing but their own object. */
const QUIET_GLOBALS =
  /^(?:\w*Array|\w*Constructor|String|Number|Boolean|BigInt|Date|Math|JSON|Object|Promise|PromiseLike|Map|Set|Weak\w+|Readonly\w+|Symbol|RegExp\w*|\w*Error|ArrayBuffer|SharedArrayBuffer|Atomics|DataView|Intl|Iterator\w*|Generator|AsyncGenerator|Async\w*|Array\w*|CallableFunction|NewableFunction|Function|Reflect|Proxy|parseInt|parseFloat|isNaN|isFinite|(?:en|de)codeURI\w*|escape|unescape|structuredClone|atob|btoa|clear\w+|queueMicrotask|console|Console|URL\w*|Headers|Request|Response|Body\w*|FormData|Blob|File|AbortController|AbortSignal|Text\w+coder\w*|Readable\w*|Writable\w*|Transform\w*|ByteLength\w*|Compression\w*|Event|EventTarget|CustomEvent|performance|Performance\w*|crypto|Crypto|SubtleCrypto|Buffer\w*|Timer|Timeout|Immediate|NodeJS|globalThis|Disposable\w*|Segmenter|Collator|MessageChannel|DOMException|String\w+)$/;
const QUIET_HTTP =
  /^(?:create|extend|use|eject|clear|json|text|arrayBuffer|blob|buffer|formData|bytes|isAxiosError|isCancel|all|spread|on|once|pipe|set|type|accept|timeout|retry|auth|redirects|ok|then|catch|attach|field|agent|close|destroy|send|defaults|end|getUri|toFormData|mergeConfig|Headers|Request|Response|FormData|\w*Error|setGlobalDispatcher_|paginate|each|options|get|has|append|forEach|entries|clone)$/;
const SQL_METHODS = new Set(
  wordsIn(
    'query execute exec run all get each prepare raw unsafe sql values iterate batch executesql rawquery command pragma $queryraw $executeraw $queryrawunsafe $executerawunsafe one oneornone many manyornone none any result multi simple',
  ),
);

function effect(
  kind: EffectKind,
  access: CallEffect['access'],
  call: string,
  deletes?: boolean,
): CallEffect {
  return { kind, access, call, ...(deletes && { deletes }) };
}

/** Returns the name of what is called, without `()`, `new` and `promises`. */
export function nameOf({ path, pkg }: Pick<OutsideValue, 'path' | 'pkg'>): string {
  return path.filter((part) => !/^(?:\(\)|new|default|promises)$/.test(part)).at(-1) ?? pkg;
}

/** Returns a call's name as reports show it: `axios.post`, `stripe.RefundsResource.create`. */
export function callName({ pkg, path }: Pick<OutsideValue, 'path' | 'pkg'>): string {
  const names = path.filter((part) => !/^(?:\(\)|new|default)$/.test(part));
  return [...(pkg === 'global' ? [] : [pkg]), ...names].join('.');
}

function processEffects(name: string, call: string): Effects | undefined {
  if (
    /^(?:kill|abort|exit|reallyExit|chdir|umask|set\w+|initgroups|dlopen|loadEnvFile)$/.test(name)
  )
    return [effect('environment', 'write', call)];
  return /^(?:cwd|uptime|hrtime|bigint|memoryUsage|cpuUsage|nextTick|on|once|off|emitWarning|version|rss|resourceUsage|getuid|getgid|availableMemory|write|getBuiltinModule_)$/.test(
    name,
  )
    ? []
    : undefined;
}

const isOnly = (values: Values | undefined, value: unknown) =>
  values?.every((each) => each.is === 'literal' && each.value === value) ?? true;

function opening(flags: Values | undefined, call: string): CallEffect {
  const accesses = (flags === undefined ? ['r'] : textsOf(flags)).map((flag) =>
    flag.includes(HOLE) ? 'unknown' : READ_FLAGS.test(flag) ? 'read' : 'write',
  );
  const access = accesses.includes('write')
    ? 'write'
    : accesses.includes('unknown')
      ? 'unknown'
      : 'read';
  return effect('files', access, call);
}

const READ_FLAGS = /^(?:r|rs|sr|undefined|(?:0|O_RDONLY|O_NO\w+|O_DIRECTORY|O_SYNC|\|)+)$/;

function isTemporary(path: Values | undefined): boolean {
  return (
    path !== undefined && path.length > 0 && textsOf(path).every((text) => text.startsWith('/tmp'))
  );
}

const rows = ROWS.map((row) => ({
  row,
  packages: patterns(row.packages),
  reads: patterns(row.reads),
  writes: patterns(row.writes),
  quiet: patterns(row.quiet),
}));

/** Returns a test for the words of a list, where `*` at the end stands for anything. */
function patterns(list = ''): (name: string) => boolean {
  const words = list.trim() === '' ? [] : wordsIn(list.toLowerCase());
  const exact = new Set(words);
  const starts = words
    .filter((word) => word.length > 1 && word.endsWith('*'))
    .map((word) => word.slice(0, -1));
  return (name) =>
    exact.has(name.toLowerCase()) || starts.some((start) => name.toLowerCase().startsWith(start));
}

function byQuiet(call: OutsideCall): boolean {
  return rows.some(({ packages, quiet }) => packages(call.pkg) && quiet(nameOf(call)));
}

function byTable(call: OutsideCall): Effects | undefined {
  const found = rows.find(({ packages }) => packages(call.pkg));
  if (found === undefined) return undefined;
  const { row, quiet, reads, writes } = found;
  const name = nameOf(call).replace(/Sync$/, '');
  const label = callName(call);
  const verb = row.verbs === true ? verbOf(name) : undefined;
  const access =
    accessIn(name, found) ??
    (call.isNew && row.kind !== 'program'
      ? 'none'
      : (verb?.access ?? anyIn(row, { quiet, reads, writes })));
  if (access === undefined || access === 'none') return access && [];
  const pays =
    access === 'write' &&
    PAYMENTS.test(call.pkg) &&
    /charge|payment|refund|transfer|payout|pay$|capture/i.test(label);
  return [
    {
      kind: row.kind,
      access,
      call: label,
      ...(verb?.deletes && access === 'write' && { deletes: true }),
      ...(pays && { pays }),
    },
  ];
}

type Tests = Readonly<Record<'quiet' | 'reads' | 'writes', (name: string) => boolean>>;

function accessIn(
  name: string,
  { quiet, reads, writes }: Tests,
): 'read' | 'write' | 'none' | undefined {
  return reads(name) ? 'read' : writes(name) ? 'write' : quiet(name) ? 'none' : undefined;
}

/** Returns what a row says of all other names. */
function anyIn(_row: Row, tests: Tests): 'read' | 'write' | 'none' | undefined {
  return accessIn('*', tests);
}
