import type { CallEffect, EffectKind } from '../effect.js';
import { builtinEffects } from './builtins.js';
import { httpEffects } from './http.js';
import { fieldOf, reads, undecided, wordsIn, wordsOfName, writes, type AuditKnowledge, type KnownValue } from './known-value.js';
import { programEffects } from './programs.js';
import { sqlEffects } from './sql.js';

const READ_VERBS = new Set(wordsIn('get list find search query read fetch describe count lookup retrieve show view check has is exists scan select aggregate explain inspect resolve validate verify parse ping status stat stats head peek browse wait compare analyze analyse preview estimate calculate compute render format match filter download export info whoami test watch poll iterate paginate sample rank embed classify summarize translate extract load open hello estimated distinct page iter each for'));
type Facts = readonly [destructive: boolean | null, idempotent: boolean | null];

/** What a write is by the verb of a method's name. */
const WRITE_VERBS: ReadonlyMap<string, Facts> = new Map<string, Facts>([
  ...wordsIn('create insert append post send publish upload import submit invite fork clone comment reply register subscribe enqueue schedule trigger star follow like attach').map((verb) => [verb, [false, false]] as [string, Facts]),
  ...wordsIn('delete remove drop destroy truncate purge clear erase wipe revoke cancel terminate kill abort stop shutdown uninstall unregister unsubscribe archive trash').map((verb) => [verb, [true, true]] as [string, Facts]),
  ...wordsIn('update upsert put patch replace rename move copy set save write edit modify change merge restore enable disable start restart reboot approve reject close reopen assign unassign lock unlock grant deny deploy rollback promote resize scale pause resume complete reset push commit tag untag label transfer mark toggle bulk overwrite sync apply add install execute').map((verb) => [verb, [null, null]] as [string, Facts]),
]);
/** Words after a verb with which a method makes a thing of the program, not of the service. */
const OWN_THINGS = new Set(wordsIn('element listener listeners handler handlers event events child attribute header headers param params timeout interval immediate stream server client context transport connection logger instance error hash hmac cipher decipher interface reader writer buffer map object schema proxy cache iterator encoder decoder parser builder factory callback hook middleware plugin router store state ref memo effect node signal controller promise deferred request response message result url path string text component default defaults options config window document fragment range selection agent socket emitter span tracer meter queue pool limiter breaker app all static encoding cookie value values key property query'));
/** Verbs of methods that things of every program have. */
const BARE = new Set(wordsIn('add append apply call clear close copy delete execute merge move open patch pause publish push put register remove replace reset resume run save send set start stop submit sync tag toggle update write create insert post commit complete abort cancel mark lock unlock attach load import'));

/** Packages whose calls leave nothing behind that a tool is asked about: telemetry and logs, models, and what only computes. */
const HARMLESS = /^(?:@opentelemetry\/|@sentry\/|posthog|@segment\/|mixpanel|amplitude|@amplitude\/|analytics|winston|pino|bunyan|log4js|debug|loglevel|consola|signale|dd-trace|newrelic|applicationinsights|statsig|@launchdarkly\/|zod|zod-|ajv|joi|yup|valibot|superjson|lodash|ramda|underscore|chalk|picocolors|kleur|ansi-|strip-ansi|uuid|nanoid|ulid|yaml|js-yaml|toml|@iarna\/toml|ini|dotenv|commander|yargs|minimist|meow|cac|semver|minimatch|micromatch|picomatch|ignore|date-fns|dayjs|luxon|moment|ms|cheerio|jsdom|linkedom|parse5|htmlparser2|turndown|marked|markdown-it|remark|rehype|unified|diff|fast-|qs|query-string|mime|he|entities|slugify|camelcase|change-case|iconv-lite|tiktoken|gpt-tokenizer|@babel\/|acorn|esprima|typescript|@typescript-eslint\/|prettier|jsonpath|jmespath|json5|jsonc-parser|papaparse|csv-|fuse\.js|lunr|minisearch|string-|p-limit|p-queue|p-retry|async-|bottleneck|lru-cache|quick-lru|node-cache|tslib|rxjs|immer|express|fastify|koa|hono|cors|body-parser|helmet|bn\.js|bignumber|big\.js|mathjs|crypto-js|jose|jsonwebtoken|bcrypt|tweetnacl|@noble\/|graphql$|graphql-tag|@modelcontextprotocol\/sdk\/types|zod-to-json-schema|inversify|tsyringe|reflect-metadata|eventemitter3|mitt|undici-types|which|is-|normalize-|escape-|wrap-ansi|cli-|boxen|ora|figlet|table|tree-sitter|web-tree-sitter|@xmldom\/|fast-xml-parser|xml2js|sax|pdf-parse|pdfjs-dist|mammoth|sharp|jimp|pngjs|exif|gray-matter|handlebars|mustache|ejs|nunjucks|liquidjs|googleapis-common|google-auth-library|@azure\/identity|@aws-sdk\/credential|fastmcp|mcp-framework)/;
const MODELS = /^(?:openai|@anthropic-ai\/|@google\/(?:genai|generative-ai)|groq-sdk|cohere-ai|@mistralai\/|replicate|@huggingface\/|ollama|@ai-sdk\/|ai$|voyageai|together-ai|exa-js|tavily|@tavily\/)/;
const BROWSERS = /^(?:playwright|@playwright\/|patchright|rebrowser-|puppeteer|chrome-remote-interface|selenium-webdriver|webdriver|webdriverio|appium|@browserbasehq\/|@mobilenext\/|stagehand)/;
const DATABASES = /^(?:mongodb|mongoose|pg|pg-|postgres|@neondatabase\/|mysql|mysql2|mariadb|better-sqlite3|sqlite|sqlite3|sql\.js|@libsql\/|libsql|knex|kysely|sequelize|typeorm|drizzle-orm|@prisma\/|prisma|redis|ioredis|@redis\/|@upstash\/(?:redis|vector)|@supabase\/|neo4j-driver|cassandra-driver|@elastic\/|elasticsearch|@opensearch-project\/|@pinecone-database\/|@qdrant\/|chromadb|weaviate|@zilliz\/|mssql|tedious|oracledb|snowflake-sdk|duckdb|@duckdb\/|@clickhouse\/|@google-cloud\/(?:bigquery|firestore|spanner|datastore)|firebase|level|leveldb|lmdb|nedb|lowdb|couchbase|nano|rethinkdb|influx|@influxdata\/|surrealdb|dexie|@planetscale\/|@databricks\/)/;
const HTTP_CLIENTS = /^(?:axios|got|ky|node-fetch|undici|superagent|needle|cross-fetch|request|request-promise|phin|bent|ofetch|wretch|isomorphic-fetch|make-fetch-happen|gaxios)$/;
const PROGRAMS = /^(?:execa|cross-spawn|tinyexec|nano-spawn|zx|shelljs|spawn-please|node-pty|@lydell\/node-pty|promisify-child-process)$/;

const BROWSER_READS = new Set(wordsIn('content title url screenshot snapshot ariasnapshot innertext innerhtml textcontent inputvalue getattribute isvisible isenabled ischecked ishidden isdisabled iseditable locator locators frames frame mainframe pages contexts context count all first last nth boundingbox viewport viewportsize cookies storagestate accessibility getbyrole getbytext getbylabel getbytestid getbyplaceholder queryselector queryselectorall metrics version useragent target targets browser iswsconnected isconnected isclosed consolemessages requests response headers elementhandle on once off waitfor waitforselector waitfortimeout waitforfunction waitforloadstate waitforurl waitforevent waitforresponse waitforrequest waitfornavigation waitfornetworkidle waitforframe and or filter describe getproperties getproperty jsonvalue asElement iselement'));
const BROWSER_WRITES = new Set(wordsIn('click dblclick tap fill type press presssequentially check uncheck setchecked selectoption selecttext select hover focus blur clear drag dragto draganddrop drop goto reload goback goforward setcontent setviewportsize setviewport setdefaulttimeout setinputfiles uploadfile close newpage newcontext bringtofront emulate emulatemedia emulatetimezone setgeolocation grantpermissions clearpermissions addcookies setcookie deletecookie clearcookies setextrahttpheaders setuseragent setoffline route unroute continue abort fulfill accept dismiss down up move wheel inserttext sendcharacter highlight hidehighlight startrecording stoprecording start stop startchunk stopchunk startvideo stopvideo showchapter showactions hideactions showoverlay tracing scrollintoview scrollintoviewifneeded dispatchevent addscripttag addstyletag addinitscript evaluateonnewdocument exposefunction createcdpsession launch launchpersistentcontext connect connectovercdp kill sendkeys navigate back forward refresh pdf swipe'));
const REDIS_READS = new Set(wordsIn('get mget getrange strlen hget hmget hgetall hkeys hvals hlen hexists keys scan hscan sscan zscan scaniterator exists ttl pttl type lrange lindex llen scard smembers sismember smismember srandmember sinter sunion sdiff zcard zcount zrange zrangebyscore zrevrange zscore zrank zrevrank xlen xrange xrevrange xread xinfo info ping dbsize memory object bitcount getbit pfcount geodist geopos georadius geosearch time echo randomkey dump json ft subscribe psubscribe'));
const SQL_METHODS = new Set(wordsIn('query execute exec run all get each prepare raw unsafe sql values iterate batch executesql rawquery $queryraw $executeraw $queryrawunsafe $executerawunsafe simplequery'));
const FILE_PACKAGES = /^(?:fs-extra|graceful-fs|memfs|rimraf|del|mkdirp|make-dir|jsonfile|write-file-atomic|trash|tmp|tmp-promise|temp|tempy|conf|configstore|electron-store|adm-zip|archiver|extract-zip|tar|unzipper|decompress|cpy|move-file|proper-lockfile|exceljs|xlsx|docx|pptxgenjs|pdfkit)$/;

/** Returns what a browser's or a device's method does. */
function inBrowser(name: string, call: string, args: readonly KnownValue[]): readonly CallEffect[] | undefined {
  const key = name.toLowerCase().replace(/^\$+(?:eval)?$/, 'queryselector');
  if ((key === 'screenshot' || key === 'pdf') && fieldOf(args[0], 'path') !== undefined) return [writes('fs-write', call, true, true)];
  if (key === 'evaluate' || key === 'evaluatehandle' || key === 'evaluateall' || key === 'send') return [undecided('browser-action', call)];
  if (BROWSER_READS.has(key) || key === 'pdf') return [reads('browser-action', call)];
  return BROWSER_WRITES.has(key) ? [writes('browser-action', call, null, null)] : undefined;
}

function onFiles(pkg: string, name: string, args: readonly KnownValue[]): readonly CallEffect[] | undefined {
  const call = `${pkg}.${name}`;
  const plain = name.replace(/Sync$/, '');
  if (pkg === 'fs-extra' || pkg === 'graceful-fs' || pkg === 'memfs') {
    if (/^(?:output|write|ensure)/.test(plain) && plain !== 'write') return [writes('fs-write', call, !plain.startsWith('ensure'), true)];
    if (/^(?:remove|emptyDir|emptydir|move|copy)$/.test(plain)) return [writes('fs-write', call, true, true)];
    if (/^(?:readJson|readJSON|pathExists)$/.test(plain)) return [reads('fs-read', call)];
    return builtinEffects('fs', [name], args);
  }
  if (/^(?:rimraf|del|trash)$/.test(pkg)) return [writes('fs-write', call, true, true)];
  if (/^(?:mkdirp|make-dir|tmp|tmp-promise|temp|tempy)$/.test(pkg)) return [writes('fs-write', call, false, null)];
  return /^(?:write|save|set|delete|clear|reset|extract|add|to(?:File|Buffer)|lock|unlock|move|copy)|^[cxur]$/.test(plain) ? [writes('fs-write', call)] : /^(?:read|get|has|load|list|open)|^t$/.test(plain) ? [reads('fs-read', call)] : undefined;
}

/** Reads the access of a method off its name. `isOwn` is true for a receiver that is known to be a client of a package. */
function byName(name: string, call: string, read: EffectKind, write: EffectKind, isOwn: boolean, arity: number): readonly CallEffect[] | undefined {
  const words = wordsOfName(name);
  const [verb = '', next] = words;
  if (READ_VERBS.has(verb)) return isOwn || words.length > 1 ? [reads(read, call)] : undefined;
  const how = WRITE_VERBS.get(verb) ?? (words.length > 1 && /^(?:batch|bulk|async|do|force|soft|hard|multi|unsafe|mass|async|try)$/.test(verb) ? WRITE_VERBS.get(next!) : undefined);
  if (how === undefined) return isOwn && words.some((word) => READ_VERBS.has(word)) ? [reads(read, call)] : undefined;
  if (next !== undefined && OWN_THINGS.has(words.at(-1)!) && !isOwn) return undefined;
  if (next !== undefined && verb === 'create' && OWN_THINGS.has(next)) return undefined;
  if (!isOwn && (words.length === 1 || verb === 'set' || verb === 'add' || verb === 'push' || verb === 'append' || verb === 'clear' || verb === 'abort')) return words.length === 1 && !BARE.has(verb) ? [undecided(write, call)] : undefined;
  // Without an argument there is nothing that a service could be told to change.
  return isOwn && arity === 0 && words.length === 1 && BARE.has(verb) ? [undecided(write, call)] : [writes(write, call, ...how)];
}

/**
 * Returns what a call of a package's client does, by what its documentation says, or else by the verb in its name.
 *
 * @param packageName undefined where the receiver is not known; then only names that say what they change count.
 * @param path the names from the package on; `()` stands for the result of a call.
 * @returns `undefined` where nothing is known of it.
 */
export function clientEffects(packageName: string | undefined, path: readonly string[], args: readonly KnownValue[], known?: AuditKnowledge): readonly CallEffect[] | undefined {
  const names = path.filter((part) => part !== '()');
  const name = names.at(-1) ?? '';
  const pkg = packageName?.replace(/^node:/, '');
  const call = `${pkg === undefined ? '' : `${pkg}: `}${names.slice(-3).join('.')}`.slice(0, 100);
  for (const key of [`${pkg ?? ''}.${name}`, name]) {
    if (known?.calls === undefined || !Object.hasOwn(known.calls, key)) continue;
    return known.calls[key] === 'none' ? [] : [known.calls[key] === 'read' ? reads('net-read', call) : writes('net-write', call)];
  }
  if (pkg === undefined) return inBrowserIfClear(name, call, args) ?? byName(name, call, 'net-read', 'net-write', false, args.length);
  if (HARMLESS.test(pkg)) return [];
  if (MODELS.test(pkg)) return [/^(?:delete|update|cancel|upload|remove)/.test(name) ? writes('net-write', call, true, true) : reads('net-read', call)];
  if (BROWSERS.test(pkg)) return inBrowser(name, call, args);
  if (FILE_PACKAGES.test(pkg)) return onFiles(pkg, name, args);
  if (PROGRAMS.test(pkg)) {
    const [program, list] = args;
    if (typeof program !== 'string') return [undecided('process-spawn', call)];
    const words = Array.isArray(list) ? list.map((each: KnownValue) => (typeof each === 'string' ? each : undefined)) : [];
    return words.length === 0 && /\s/.test(program) ? programEffects('sh', ['-c', program], known) : programEffects(program, words, known);
  }
  if (pkg === 'simple-git' || pkg === 'isomorphic-git') return programEffects('git', [wordsOfName(name).join('-').replace(/^delete-.*|^add-(?:remote|tag)|^remove-.*|^checkout-.*/, 'reset'), ...args.map((arg) => (typeof arg === 'string' ? arg : undefined))], known);
  if (HTTP_CLIENTS.test(pkg)) {
    const url = typeof args[0] === 'string' ? args[0] : textIn(args[0], 'url');
    const verb = /^(?:get|head|options|post|put|patch|delete|del|query)$/.exec(name)?.[0];
    const told = textIn(args[0], 'method') ?? textIn(args[1], 'method');
    if (/^(?:create|extend|defaults|isAxiosError|CancelToken|Agent|ProxyAgent|setGlobalDispatcher|use|eject|interceptors|json|text|buffer|setHeader|set)$/i.test(name)) return [];
    return httpEffects(verb === 'del' ? 'DELETE' : (verb ?? told ?? 'GET'), url, args[1] === undefined ? fieldOf(args[0], 'data') : args[1]);
  }
  if (/^(?:redis|ioredis|@redis\/|@upstash\/redis)/.test(pkg)) {
    if (/^(?:on|once|off|connect|quit|disconnect|duplicate|createClient|createCluster|Redis|Cluster|multi|pipeline|default|sendCommand|removeListener)$/.test(name)) return name === 'sendCommand' ? [undecided('db-write', call)] : [];
    const key = name.toLowerCase();
    return names.length < 2 ? [] : REDIS_READS.has(key) || (names.at(-2) === 'json' && key === 'get') || (names.at(-2) === 'ft' && key === 'search') ? [reads('db-read', call)] : [writes('db-write', call, !/^(?:append|l?push|r?push|sadd|zadd|xadd|incr|decr|publish)/.test(key), /^(?:set|del|hset|sadd|expire)/.test(key))];
  }
  const isDatabase = DATABASES.test(pkg);
  if (isDatabase && SQL_METHODS.has(name.toLowerCase()) && (typeof args[0] === 'string' || !/^(?:mongo|@elastic|@opensearch|@pinecone|@qdrant|chromadb|@supabase)/.test(pkg))) return sqlEffects(typeof args[0] === 'string' ? args[0] : textIn(args[0], 'text') ?? textIn(args[0], 'sql') ?? textIn(args[0], 'query'));
  const command = /^(\w+)Command$/.exec(name)?.[1];
  if (/^@aws-sdk\//.test(pkg)) return command === undefined ? [] : byName(command, call, 'net-read', 'net-write', true, 1);
  if (/^@modelcontextprotocol\//.test(pkg)) return name === 'callTool' ? [undecided('net-write', call)] : [];
  if (/^(?:clipboardy|open|node-notifier|robotjs|@nut-tree|nodemailer|keytar)/.test(pkg)) return /^(?:read|get|find|create|verify|getPassword)/.test(name) ? [reads('process-spawn', call)] : [writes('process-spawn', call, true, null)];
  if (/^mongo/.test(pkg) && /^(?:command|runCommand|eval)$/.test(name)) return [undecided('db-write', call)];
  if (/^[A-Z]\w*$/.test(name) && names.length < 2) return []; // A class of the package: making one of it connects at most.
  return byName(name, call, isDatabase ? 'db-read' : 'net-read', isDatabase ? 'db-write' : 'net-write', names.length > 1, args.length);
}

const textIn = (value: KnownValue, key: string): string | undefined => {
  const text = fieldOf(value, key);
  return typeof text === 'string' ? text : undefined;
};

/** Methods of browsers' pages that no other object has. */
const CLEARLY_BROWSER = /^(?:dblclick|goto|goBack|goForward|selectOption|setInputFiles|setViewportSize|bringToFront|pressSequentially|dragTo|dragAndDrop|addCookies|clearCookies|setCookie|ariaSnapshot|waitForSelector|waitForLoadState|innerText|inputValue|evaluateOnNewDocument)$/;
const inBrowserIfClear = (name: string, call: string, args: readonly KnownValue[]) => (CLEARLY_BROWSER.test(name) ? inBrowser(name, call, args) : undefined);
