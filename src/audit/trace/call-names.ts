import { PURE } from './callbacks.js';
import type { Machine } from './machine.js';
import type { Node } from './program.js';
import { HOLE, join, tagsOf, unknown, withTags, type Obj, type Value } from './values.js';

export const VALIDATORS = new Set([
  'parse',
  'parseAsync',
  'safeParse',
  'safeParseAsync',
  'validate',
  'validateSync',
  'assert',
  'cast',
  'decode',
  'check',
  'create',
]);
export const SQL =
  /^\s*(?:--.*\n\s*|\/\*[^]*?\*\/\s*)*(?:select|insert|update|delete|create|drop|alter|truncate|with|pragma|explain|replace|merge|grant|revoke|vacuum|call|show|begin|commit|rollback|set)\b/iu;
export const SQL_CALLS = new Set([
  'query',
  'exec',
  'execute',
  'run',
  'all',
  'get',
  'prepare',
  'raw',
  'unsafe',
  'each',
  'sql',
  '$queryRawUnsafe',
  '$executeRawUnsafe',
  'executeSql',
  'queryRaw',
  'one',
  'many',
  'none',
  'any',
  'oneOrNone',
]);
export const MUTATORS = new Set([
  'push',
  'unshift',
  'pop',
  'shift',
  'splice',
  'set',
  'add',
  'delete',
  'clear',
  'sort',
  'reverse',
  'fill',
]);
/** Names that many classes have, so that a name alone does not tell whose method is called. */
export const COMMON = new Set(
  'get set has add delete clear push pop update create remove send write read close open start stop run call apply bind emit log info warn error debug trace then catch finally next parse render toString end destroy init reset connect disconnect execute handle process load save list find query fetch request'.split(
    ' ',
  ),
);
export const HTTP_PACKAGES = new Set([
  'axios',
  'got',
  'ky',
  'node-fetch',
  'undici',
  'superagent',
  'needle',
  'cross-fetch',
  'request',
  'request-promise',
  'phin',
  'bent',
  'ofetch',
  'wretch',
  'node-fetch-native',
  'isomorphic-fetch',
  'fetch-retry',
  'axios-retry',
  '@actions/http-client',
  'typed-rest-client',
]);
export const DATABASES =
  /^(?:pg|pg-promise|postgres|mysql2?|mariadb|better-sqlite3|sqlite3?|libsql|@libsql\/client|duckdb|@duckdb\/.*|mssql|oracledb|knex|sequelize|typeorm|snowflake-sdk|@clickhouse\/client|@neondatabase\/serverless|@planetscale\/database|sql\.js)(?:\/|$)/u;
/** Addresses that take in telemetry, by the documentation of those who offer it. */
export const TELEMETRY =
  /^https?:\/\/(?:\w+\.i\.posthog\.com|(?:api|cdn)\.segment\.(?:io|com)|api\.mixpanel\.com|api2?\.amplitude\.com|(?:www\.)?google-analytics\.com|[\w.]+\.ingest\.(?:\w+\.)?sentry\.io|events\.statsigapi\.net)\//u;
export const METHODS = new Set(['get', 'head', 'options', 'post', 'put', 'patch', 'delete', 'del']);
/** Functions by which compilers and bundlers take a module of the other kind. */
export const INTEROP =
  /^(?:__toESM|__toCommonJS|__importDefault|__importStar|_?interopRequire(?:Default|Wildcard)\w*|_interop_require_\w+|_interopNamespace\w*)\d*$/u;
export const SPAWNERS = new Set([
  'exec',
  'execSync',
  'execFile',
  'execFileSync',
  'spawn',
  'spawnSync',
  'fork',
]);
/** What these builtins return is used further: its methods have effects or take callbacks. */
export const LIVE = new Set([
  'spawn',
  'fork',
  'exec',
  'execFile',
  'createWriteStream',
  'createReadStream',
  'request',
  'get',
  'connect',
  'createConnection',
  'createServer',
  'createInterface',
  'open',
  'Socket',
  'Worker',
  'DatabaseSync',
  'WebSocket',
  'EventSource',
  'EventEmitter',
  'AsyncLocalStorage',
]);

const BROWSER_THINGS =
  /^_?#?(?:tab|\w*(?:page|locator|frame|keyboard|mouse|touchscreen|dialog|tracing|screencast|browser|browserContext|fileChooser|elementHandle))\d*$/iu;
/** Methods that only things of a browser have, in the documentation of Playwright, Puppeteer and WebDriver. */
const BROWSER_METHODS =
  /^(?:click|dblclick|hover|selectOption|setInputFiles|uploadFile|dragTo|dragAndDrop|pressSequentially|sendKeys|bringToFront|setViewport(?:Size)?|goBack|goForward|evaluateOnNewDocument|addInitScript)$/u;
/** Returns the name of a thing of a browser on which a method is called, as it or what it was got from is named in the code. */
export function browserThing(node: Node, method: string): string | undefined {
  const names: string[] = [];
  const callee = node['callee'] as Node | undefined;
  for (
    let object =
      callee?.type === 'MemberExpression' ? (callee['object'] as Node | undefined) : undefined;
    object !== undefined && names.length < 6;
  ) {
    if (
      object.type === 'AwaitExpression' ||
      object.type === 'TSNonNullExpression' ||
      object.type === 'ParenthesizedExpression' ||
      object.type === 'ChainExpression'
    )
      object = (object['argument'] ?? object['expression']) as Node;
    else if (object.type === 'CallExpression') {
      const inner: Node = object['callee'] as Node;
      names.push(nameIn(inner));
      object = inner.type === 'MemberExpression' ? (inner['object'] as Node) : undefined;
    } else {
      names.push(nameIn(object));
      break;
    }
  }
  return (
    names.find((name) => BROWSER_THINGS.test(name)) ??
    (BROWSER_METHODS.test(method) ? (names[0] ?? '') : undefined)
  );
}

const nameIn = (node: Node): string =>
  String(
    (node.type === 'MemberExpression' ? (node['property'] as Node)['name'] : node['name']) ?? '',
  );
export const readable = (text: string): string | undefined =>
  text.includes(HOLE) ? undefined : text;
/** Returns the name of a program of which only the folder is not known. */
export const programName = (text: string): string =>
  /[\\/][\w.-]+$/u.exec(text)?.[0].slice(1) ?? text;
/** Writes what is not known of a shell's text as a variable, which the shell's words are then unknown by. */
export const holesAsWords = (text: string): string => text.replaceAll(HOLE, '$unknown');
/** Methods of databases whose text is SQL in any case. */
export const SQL_ONLY =
  /^(?:query|exec|execute|prepare|raw|unsafe|simple|sql|queryRaw|executeSql|\$(?:query|execute)RawUnsafe)$/u;

/** Returns the tool's arguments as a schema gives them: with its defaults, and knowing which are required. */
export function argumentsOf(m: Machine, shape: Obj): Value {
  const object = m.object();
  object.rest = unknown(['arg:']);
  for (const [key, field] of shape.props) {
    const given = unknown([`arg:${key}`]);
    const fallback = field.t === 'external' ? field.fallback : undefined;
    if (field.t === 'external' && field.optional !== true) m.required.add(key);
    object.props.set(
      key,
      fallback?.t === 'const' ? join(given, withTags(fallback, [`arg:${key}`])) : given,
    );
  }
  return object;
}
/** Programs that act on something else than the files that they are given. */
export const ELSEWHERE_PROGRAMS =
  /^(?:kubectl|oc|helm|kustomize|docker|podman|nerdctl|terraform|tofu|pulumi|ansible\S*|aws|gcloud|az|gh|glab|doctl|heroku|psql|mysql|mongosh|redis-cli|sqlcmd|npm|pnpm|yarn)\b/u;

/** Globals of the language, of Node and of browsers whose calls the tables know. */
export const KNOWN_GLOBALS =
  /^(?:console|process|global|globalThis|navigator|performance|crypto|Intl|JSON|Math|Atomics|WebAssembly|eval|fetch|structuredClone|queueMicrotask|require|escape|unescape|atob|btoa|gc|(?:en|de)codeURI\w*|is(?:NaN|Finite)|parse(?:Int|Float)|(?:set|clear)(?:Timeout|Interval|Immediate)|Object|Function|Array|String|Number|Boolean|BigInt|Symbol|Date|RegExp|Promise|Map|Set|WeakMap|WeakSet|WeakRef|FinalizationRegistry|Iterator|Buffer|Blob|File|FormData|Headers|Request|Response|URL\w*|Event\w*|CustomEvent|Message\w+|DOMException|Abort\w+|Text\w+|\w+Stream\w*|\w*Error|\w+Array|\w*ArrayBuffer|DataView|WebSocket|XMLHttpRequest|BroadcastChannel|(?:local|session)Storage)$/u;
/** Methods that every object has. */
export const OF_OBJECTS = new Set(
  'toString toLocaleString valueOf hasOwnProperty isPrototypeOf propertyIsEnumerable'.split(' '),
);
/** Methods of lists and texts that things of packages hardly have otherwise. */
export const OF_LISTS = new Set(
  'map filter forEach some every reduce flatMap flat slice join includes indexOf concat keys entries values sort toString toISOString toLowerCase toUpperCase trim split startsWith endsWith replace replaceAll'.split(
    ' ',
  ),
);
const OF_BUILTINS =
  /^(?:get|has|append|set|delete|on|once|off|emit|addEventListener|removeEventListener|removeAllListeners|removeListener|setEncoding|setAAD|setAutoPadding|setNoDelay|setKeepAlive|pipe|pipeThrough|pipeTo|getReader|read|releaseLock|cancel|pause|resume|destroy|end|abort|throwIfAborted|unref|ref|then|catch|finally|next|return|setTimeout|setHeader|write|update|digest|final|setAuthTag|getAuthTag|clone|formData|getSetCookie|getAll|format|formatToParts|resolvedOptions|isDirectory|close|encode|decode|encodeInto|set\w*(?:Hours|Date|Minutes|Seconds|Month|FullYear|Time|Milliseconds)|get\w*(?:Hours|Date|Day|Minutes|Seconds|Month|FullYear|Time|Milliseconds|TimezoneOffset)|to\w*String|(?:read|write)U?Int\w+|getRandomValues|randomUUID|isWellFormed|toWellFormed|groupBy|toSpliced|copyWithin|findLastIndex|anchor|substr|codePointAt|fromCodePoint|toExponential|toPrecision|trimLeft|trimRight|raw)$/u;
/** Returns true for a method that plain data has: of an argument only those of JSON, of what the language and Node give theirs. */
export const isOfData = (value: Value, key: string): boolean =>
  PURE.has(key) ||
  MUTATORS.has(key) ||
  /^(?:to|get)[A-Z]\w*(?:String|Date|Time)$/u.test(key) ||
  (OF_BUILTINS.test(key) && !tagsOf(value).some((tag) => tag.startsWith('arg:')));
