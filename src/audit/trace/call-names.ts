import { wordsIn } from '../known/known-value.js';
import { PURE } from './callbacks.js';
import type { Node } from './program.js';
import { HOLE, tagsOf, type Value } from './values.js';

export const VALIDATORS =
  /^(?:(?:safeP|p)arse(?:Async)?|validate(?:Sync)?|assert|cast|decode|check|create)$/u;
export const SQL =
  /^\s*(?:--.*\n\s*|\/\*[^]*?\*\/\s*)*(?:select|insert|update|delete|create|drop|alter|truncate|with|pragma|explain|replace|merge|grant|revoke|vacuum|call|show|begin|commit|rollback|set)\b/iu;
export const SQL_CALLS =
  /^(?:query|exec|execute|run|all|get|prepare|raw|unsafe|each|sql|\$(?:query|execute)RawUnsafe|executeSql|queryRaw|one|many|none|any|oneOrNone)$/u;
/** Database methods that always take SQL. */
export const SQL_ONLY =
  /^(?:query|exec|execute|prepare|raw|unsafe|simple|sql|queryRaw|executeSql|\$(?:query|execute)RawUnsafe)$/u;
const MUTATES = /^(?:push|unshift|pop|shift|splice|set|add|delete|clear|sort|reverse|fill)$/u;
export const isMutator = (name: string): boolean => MUTATES.test(name);
/** Method names that many classes use. Such a name alone doesn't identify the method. */
export const COMMON: ReadonlySet<string> = new Set(
  wordsIn(
    'get set has add delete clear push pop update create remove send write read close open start stop run call apply bind emit log info warn error debug trace then catch finally next parse render toString end destroy init reset connect disconnect execute handle process load save list find query fetch request',
  ),
);
export const HTTP_PACKAGES: ReadonlySet<string> = new Set(
  wordsIn(
    'axios got ky node-fetch undici superagent needle cross-fetch request request-promise phin bent ofetch wretch node-fetch-native isomorphic-fetch fetch-retry axios-retry @actions/http-client typed-rest-client',
  ),
);
export const DATABASES =
  /^(?:pg|pg-promise|postgres|mysql2?|mariadb|better-sqlite3|sqlite3?|libsql|@libsql\/client|duckdb|@duckdb\/.*|mssql|oracledb|knex|sequelize|typeorm|snowflake-sdk|@clickhouse\/client|@neondatabase\/serverless|@planetscale\/database|sql\.js)(?:\/|$)/u;
/** Addresses that collect telemetry, according to their documentation. */
export const TELEMETRY =
  /^https?:\/\/(?:\w+\.i\.posthog\.com|(?:api|cdn)\.segment\.(?:io|com)|api\.mixpanel\.com|api2?\.amplitude\.com|(?:www\.)?google-analytics\.com|[\w.]+\.ingest\.(?:\w+\.)?sentry\.io|events\.statsigapi\.net)\//u;
export const METHODS = /^(?:get|head|options|post|put|patch|del(?:ete)?)$/u;
/** Helpers of compilers and bundlers that load an ES module from CommonJS or the reverse. */
export const INTEROP =
  /^(?:__toESM|__toCommonJS|__importDefault|__importStar|_?interopRequire(?:Default|Wildcard)\w*|_interop_require_\w+|_interopNamespace\w*)\d*$/u;
export const SPAWNERS = /^(?:exec(?:File)?(?:Sync)?|spawn(?:Sync)?|fork)$/u;
/** Built-in functions whose results have methods with effects or callbacks. */
export const LIVE =
  /^(?:spawn|fork|exec|execFile|create(?:(?:Read|Write)Stream|Connection|Server|Interface)|request|get|connect|open|Socket|Worker|DatabaseSync|WebSocket|EventSource|EventEmitter|AsyncLocalStorage)$/u;

const BROWSER_THINGS =
  /^_?#?(?:tab|\w*(?:page|locator|frame|keyboard|mouse|touchscreen|dialog|tracing|screencast|browser|browserContext|fileChooser|elementHandle))\d*$/iu;
/** Methods that only browsers and pages have in Playwright, Puppeteer and WebDriver. */
const BROWSER_METHODS =
  /^(?:click|dblclick|hover|selectOption|setInputFiles|uploadFile|dragTo|dragAndDrop|pressSequentially|sendKeys|bringToFront|setViewport(?:Size)?|goBack|goForward|evaluateOnNewDocument|addInitScript)$/u;

/**
 * Returns the name of a browser object, from its variable or from the expression that creates it.
 */
export function browserThing(node: Node, method: string): string | undefined {
  const names: string[] = [];
  let at = node['callee'] as Node | undefined;
  at = at?.type === 'MemberExpression' ? (at['object'] as Node) : undefined;
  while (at !== undefined && names.length < 6) {
    const inner = (at['callee'] ?? at['argument'] ?? at['expression']) as Node | undefined;
    if (inner === undefined) {
      names.push(nameIn(at));
      break;
    }
    if (at['callee'] === undefined) at = inner;
    else {
      names.push(nameIn(inner));
      at = inner['object'] as Node | undefined;
    }
  }
  return (
    names.find((name) => BROWSER_THINGS.test(name)) ??
    (BROWSER_METHODS.test(method) ? (names[0] ?? '') : undefined)
  );
}

const nameIn = (node: Node): string =>
  String(((node['property'] as Node | undefined) ?? node)['name'] ?? '');
export const readable = (text: string): string | undefined =>
  text.includes(HOLE) ? undefined : text;
/** Programs that act on more than the files in their arguments. */
export const ELSEWHERE_PROGRAMS =
  /^(?:kubectl|oc|helm|kustomize|docker|podman|nerdctl|terraform|tofu|pulumi|ansible\S*|aws|gcloud|az|gh|glab|doctl|heroku|psql|mysql|mongosh|redis-cli|sqlcmd|npm|pnpm|yarn)\b/u;

const GLOBAL_FUNCTIONS =
  /^(?:eval|fetch|structuredClone|queueMicrotask|require|escape|unescape|atob|btoa|gc|(?:en|de)codeURI\w*|is(?:NaN|Finite)|parse(?:Int|Float)|(?:set|clear)(?:Timeout|Interval|Immediate))$/u;
const LANGUAGE =
  /^(?:console|process|global|globalThis|Intl|JSON|Math|Atomics|WebAssembly|Object|Function|Array|String|Number|Boolean|BigInt|Symbol|Date|RegExp|Promise|Map|Set|WeakMap|WeakSet|WeakRef|FinalizationRegistry|Iterator|\w*Error|\w+Array|\w*ArrayBuffer|DataView)$/u;
const PLATFORM =
  /^(?:navigator|performance|crypto|Buffer|Blob|File|FormData|Headers|Request|Response|URL\w*|Event\w*|CustomEvent|Message\w+|DOMException|Abort\w+|Text\w+|\w+Stream\w*|WebSocket|XMLHttpRequest|BroadcastChannel|(?:local|session)Storage)$/u;
/** Returns true if the tables know the calls of a global. */
export const isKnownGlobal = (name: string): boolean =>
  [GLOBAL_FUNCTIONS, LANGUAGE, PLATFORM].some((names) => names.test(name));

/** Methods that every object has. */
export const OF_OBJECTS =
  /^(?:to(?:Locale)?String|valueOf|hasOwnProperty|isPrototypeOf|propertyIsEnumerable)$/u;
/** Methods of lists and strings. Packages rarely use these names for anything else. */
export const OF_LISTS =
  /^(?:map|filter|forEach|some|every|reduce|flatMap|flat|slice|join|includes|indexOf|concat|keys|entries|values|sort|to(?:ISO)?String|to(?:Lower|Upper)Case|trim|split|(?:starts|ends)With|replace(?:All)?)$/u;
/** Built-in methods of collections, events, streams, clocks, bytes and strings. */
const OF_EVENTS =
  /^(?:get|has|append|set|delete|on|once|off|emit|(?:add|remove)EventListener|removeAllListeners|removeListener|abort|throwIfAborted|unref|ref|then|catch|finally|next|return)$/u;
const OF_STREAMS =
  /^(?:setEncoding|setNoDelay|setKeepAlive|setTimeout|setHeader|pipe|pipeThrough|pipeTo|getReader|read|releaseLock|cancel|pause|resume|destroy|end|write|close|isDirectory)$/u;
const OF_BYTES =
  /^(?:update|digest|final|[sg]etAuthTag|setAAD|setAutoPadding|clone|formData|getSetCookie|getAll|encode|decode|encodeInto|(?:read|write)U?Int\w+|getRandomValues|randomUUID)$/u;
const OF_TIMES =
  /^(?:format|formatToParts|resolvedOptions|[sg]et\w*(?:Hours|Date|Day|Minutes|Seconds|Month|FullYear|Time|Milliseconds|TimezoneOffset)|to\w*String)$/u;
const OF_TEXTS =
  /^(?:isWellFormed|toWellFormed|groupBy|toSpliced|copyWithin|findLastIndex|anchor|fromCodePoint|toExponential|toPrecision|trimLeft|trimRight|raw)$/u;
/**
 * Returns true for a method of plain data. A tool's arguments are JSON, so they have fewer methods
 * than other data.
 */
export const isOfData = (value: Value, key: string): boolean =>
  PURE.has(key) ||
  isMutator(key) ||
  OF_TIMES.test(key) ||
  ([OF_EVENTS, OF_STREAMS, OF_BYTES, OF_TEXTS].some((names) => names.test(key)) &&
    !tagsOf(value).some((tag) => tag.startsWith('arg:')));
