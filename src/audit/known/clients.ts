import type { CallEffect, EffectKind } from '../effect.js';
import { builtinEffects } from './builtins.js';
import { httpEffects } from './http.js';
import {
  fieldOf,
  packagesIn,
  reads,
  undecided,
  wordsIn,
  wordsOfName,
  writes,
  type AuditKnowledge,
  type KnownValue,
} from './known-value.js';
import { programEffects } from './programs.js';
import { sqlEffects } from './sql.js';

const READ_VERBS = new Set(
  wordsIn(
    'get list find search query read fetch describe count lookup retrieve show view check has is exists scan select aggregate explain inspect resolve validate verify parse ping status stat stats head peek browse wait compare analyze analyse preview estimate calculate compute render format match filter download export info whoami test watch poll iterate paginate sample rank embed classify summarize translate extract load open hello estimated distinct page iter each for',
  ),
);
type Facts = readonly [destructive: boolean | null, idempotent: boolean | null];

/** What a write is by the verb of a method's name. */
const WRITE_VERBS: ReadonlyMap<string, Facts> = new Map<string, Facts>([
  ...wordsIn(
    'create insert append post send publish upload import submit invite fork clone comment reply register subscribe enqueue schedule trigger star follow like attach',
  ).map((verb) => [verb, [false, false]] as [string, Facts]),
  ...wordsIn(
    'delete remove drop destroy truncate purge clear erase wipe revoke cancel terminate kill abort stop shutdown uninstall unregister unsubscribe archive trash',
  ).map((verb) => [verb, [true, true]] as [string, Facts]),
  // More than an addition: what was there is changed.
  ...wordsIn(
    'update upsert put patch replace rename move edit modify change merge reset rollback overwrite',
  ).map((verb) => [verb, [true, null]] as [string, Facts]),
  ...wordsIn(
    'copy set save write restore enable disable start restart reboot approve reject close reopen assign unassign lock unlock grant deny deploy promote resize scale pause resume complete push commit tag untag label transfer mark toggle bulk sync apply add install execute',
  ).map((verb) => [verb, [null, null]] as [string, Facts]),
]);
/** Words after a verb with which a method makes a thing of the program, not of the service. */
const OWN_THINGS = new Set(
  wordsIn(
    'element listener listeners handler handlers event events child attribute header headers param params timeout interval immediate stream server client context transport connection logger instance error hash hmac cipher decipher interface reader writer buffer map object schema proxy cache iterator encoder decoder parser builder factory callback hook middleware plugin router store state ref memo effect node signal controller promise deferred request response message result url path string text component default defaults options config window document fragment range selection agent socket emitter span tracer meter queue pool limiter breaker app all static encoding cookie value values key property query tool tools resource prompt notification progress timer validator filter filters matcher head class comments accents deep within module variables children slash changed join require retry to',
  ),
);
/** Verbs of methods that things of every program have. */
const BARE = new Set(
  wordsIn(
    'add append apply call clear close copy delete execute merge move open patch pause publish push put register remove replace reset resume run save send set start stop submit sync tag toggle update write create insert post commit complete abort cancel mark lock unlock attach load import',
  ),
);

/** Packages whose calls leave nothing behind that a tool is asked about: telemetry and logs, models, and what only computes. */
const HARMLESS = packagesIn(
  '@opentelemetry/* @sentry/* posthog* @segment/* mixpanel @amplitude/* amplitude amplitude-js @amplitude analytics winston winston-* pino pino-* bunyan log4js debug loglevel consola signale dd-trace newrelic applicationinsights statsig* @launchdarkly/* zod zod-* ajv ajv-* joi yup valibot superjson lodash lodash.* lodash-es ramda underscore chalk picocolors kleur ansi-* strip-ansi uuid nanoid ulid yaml js-yaml toml @iarna/toml smol-toml ini dotenv commander yargs yargs-parser minimist meow cac semver minimatch micromatch picomatch ignore date-fns date-fns-tz dayjs luxon moment moment-timezone ms cheerio jsdom linkedom parse5 htmlparser2 turndown turndown-* marked markdown-it* remark* rehype* unified diff fast-* qs query-string mime mime-types mime-db he entities slugify camelcase change-case iconv-lite tiktoken gpt-tokenizer @babel/* acorn esprima typescript @typescript-eslint/* jsonpath jsonpath-plus jmespath json5 jsonc-parser papaparse csv-parse csv-stringify fuse.js lunr minisearch string-* p-limit p-queue p-retry async-mutex async-retry bottleneck lru-cache quick-lru node-cache tslib rxjs immer express fastify koa hono @hono/* cors body-parser helmet bn.js bignumber.js big.js decimal.js mathjs crypto-js jose jsonwebtoken bcrypt bcryptjs tweetnacl @noble/* graphql graphql-tag @modelcontextprotocol/sdk/types* zod-to-json-schema inversify tsyringe reflect-metadata eventemitter3 mitt undici-types which is-* normalize-* escape-* wrap-ansi cli-* boxen ora figlet table tree-sitter tree-sitter-* web-tree-sitter @xmldom/* fast-xml-parser xml2js sax pdf-parse pdfjs-dist mammoth sharp jimp pngjs exifr exif-parser gray-matter handlebars mustache ejs nunjucks liquidjs googleapis-common google-auth-library @azure/identity @aws-sdk/credential-* @aws-sdk/s3-request-presigner @smithy/* fastmcp mcp-framework openapi-types openapi-typescript',
);
const MODELS = packagesIn(
  'openai @anthropic-ai/* @google/genai @google/generative-ai groq-sdk cohere-ai @mistralai/* replicate @huggingface/* ollama @ai-sdk/* ai voyageai together-ai exa-js tavily @tavily/*',
);
/** Where a client of models keeps things: creating one leaves it there. */
const KEPT_BY_MODELS =
  /^(?:files|vectorStores|assistants|threads|uploads|containers|evals|skills)$/;
const BROWSERS = packagesIn(
  'playwright* @playwright/* patchright* rebrowser-* puppeteer* chrome-remote-interface selenium-webdriver webdriver webdriverio appium* @browserbasehq/stagehand @mobilenext/*',
);
/** Databases that take texts in SQL. */
const SQL_DATABASES = packagesIn(
  'pg pg-* postgres @neondatabase/serverless mysql mysql2 mariadb better-sqlite3 sqlite sqlite3 sql.js @libsql/* libsql knex kysely sequelize typeorm drizzle-orm @prisma/* prisma cassandra-driver mssql tedious oracledb snowflake-sdk duckdb duckdb-async @duckdb/* @clickhouse/* @google-cloud/bigquery @google-cloud/spanner @planetscale/* @databricks/sql surrealdb',
);
const DATABASES = packagesIn(
  'mongodb mongoose redis ioredis @redis/* @upstash/redis @upstash/vector @supabase/* neo4j-driver @elastic/* elasticsearch @opensearch-project/* @pinecone-database/* @qdrant/* chromadb weaviate* @zilliz/* @google-cloud/firestore @google-cloud/datastore firebase firebase-admin level leveldb classic-level lmdb nedb @seald-io/nedb lowdb couchbase nano rethinkdb influx @influxdata/* dexie @azure/cosmos @lancedb/* vectordb meilisearch typesense algoliasearch',
);
const HTTP_CLIENTS = packagesIn(
  'axios got ky node-fetch undici superagent needle cross-fetch request request-promise phin bent ofetch wretch isomorphic-fetch make-fetch-happen gaxios',
);
const PROGRAMS = packagesIn(
  'execa cross-spawn tinyexec nano-spawn zx shelljs spawn-please node-pty @lydell/node-pty promisify-child-process',
);
const DESKTOP = packagesIn(
  'clipboardy copy-paste open node-notifier robotjs @jitsi/robotjs @hurdlegroup/robotjs @nut-tree/* @nut-tree-fork/* keytar electron screenshot-desktop active-win ps-list tree-kill fkill loudness wallpaper brightness',
);

const BROWSER_READS = new Set(
  wordsIn(
    'content title screenshot snapshot ariasnapshot innertext innerhtml textcontent inputvalue getattribute isvisible isenabled ischecked ishidden isdisabled iseditable locator locators frames frame mainframe pages contexts context count all first last nth boundingbox viewport viewportsize cookies storagestate accessibility getbyrole getbytext getbylabel getbytestid getbyplaceholder queryselector queryselectorall metrics version useragent target targets browser iswsconnected isconnected isclosed consolemessages requests response headers elementhandle on once off waitfor waitforselector waitfortimeout waitforfunction waitforloadstate waitforurl waitforevent waitforresponse waitforrequest waitfornavigation waitfornetworkidle waitforframe and or filter describe getproperties getproperty jsonvalue aselement iselement alltextcontents allinnertexts clickablepoint waitforfilechooser createpdfstream createcdpsession observe extract capturescreenshot getdocument enable',
  ),
);
/** Acts of a user on a page, which may do anything there, and each time again; those after them replace the values of fields. */
const BROWSER_ACTS = new Set(
  wordsIn(
    'click dblclick tap press presssequentially type inserttext sendcharacter sendkeys drag dragto draganddrop drop accept dismiss uploadfile setinputfiles touchaction performactions dispatchevent dispatchmouseevent dispatchkeyevent dispatchtouchevent act',
  ),
);
const BROWSER_SETS = new Set(
  wordsIn('fill check uncheck setchecked selectoption select setvalue clearvalue'),
);
const BROWSER_WRITES = new Set(
  wordsIn(
    'click dblclick tap fill type press presssequentially check uncheck setchecked selectoption selecttext select hover focus blur clear drag dragto draganddrop drop goto reload goback goforward setcontent setviewportsize setviewport setinputfiles uploadfile close newpage newcontext bringtofront emulate emulatemedia emulatetimezone setgeolocation grantpermissions clearpermissions addcookies setcookie deletecookie clearcookies setextrahttpheaders setuseragent setoffline route unroute continue abort fulfill accept dismiss down up move wheel inserttext sendcharacter highlight hidehighlight showchapter showactions hideactions showoverlay startrecording stoprecording start stop startchunk stopchunk startvideo stopvideo tracing scrollintoview scrollintoviewifneeded dispatchevent addscripttag addstyletag addinitscript evaluateonnewdocument exposefunction launch launchpersistentcontext connect connectovercdp kill sendkeys navigate back forward refresh swipe quit act setvalue addvalue clearvalue installapp activateapp terminateapp touchaction performactions emulatenetworkconditions emulatecputhrottling setrequestinterception setcacheenabled dispatchmouseevent dispatchkeyevent dispatchtouchevent',
  ),
);
/** Commands of Redis in two words, and their variants, that read. */
const REDIS_ASKS =
  /^(?:z(?:rev)?range(?!store)\w*|zr(?:ev)?rank\w*|hrandfield\w*|v(?:sim|emb|card|dim|info)\w*|_list|(?:config|memory|client|object|acl|latency|slowlog|module|function|command|cluster|script|pubsub|xinfo)_?(?:get|list|info|usage|stats|doctor|encoding|freq|idletime|count|docs|id|getname|nodes|slots|exists|stream|groups|consumers|channels))$/;
const REDIS_READS = new Set(
  wordsIn(
    'get mget getrange strlen hget hmget hgetall hkeys hvals hlen hexists keys scan hscan sscan zscan scaniterator exists ttl pttl type lrange lindex llen scard smembers sismember smismember srandmember sinter sunion sdiff zcard zcount zrange zrangebyscore zrevrange zscore zrank zrevrank xlen xrange xrevrange xread xinfo info ping dbsize memory object bitcount getbit pfcount geodist geopos georadius geosearch time echo randomkey dump json ft subscribe psubscribe',
  ),
);
const SQL_METHODS = new Set(
  wordsIn(
    'query execute exec run all get each prepare raw unsafe sql values iterate batch executesql rawquery command pragma simplequery $queryraw $executeraw $queryrawunsafe $executerawunsafe',
  ),
);
/** Packages that write files, with the methods that do; `default` for the package's own function. */
const FILE_WRITES: Readonly<Record<string, RegExp>> = {
  rimraf: /./,
  del: /./,
  trash: /./,
  cpy: /./,
  'move-file': /./,
  'extract-zip': /./,
  decompress: /./,
  'write-file-atomic': /./,
  'write-json-file': /./,
  tmp: /./,
  'tmp-promise': /./,
  temp: /./,
  tempy: /./,
  mkdirp: /./,
  'make-dir': /./,
  jsonfile: /^write/,
  conf: /^(?:set|delete|clear|reset|append|toggle)/,
  configstore: /^(?:set|delete|clear)$/,
  'electron-store': /^(?:set|delete|clear|reset)/,
  'adm-zip': /^(?:extract(?:All|Entry)To\w*|writeZip\w*)$/,
  yauzl: /^$/,
  unzipper: /^(?:Extract|extract)$/,
  tar: /^(?:c|x|u|r|create|extract|update|replace)$/,
  'proper-lockfile': /^(?:lock|unlock)\w*$/,
  exceljs: /^writeFile$/,
  xlsx: /^writeFile\w*$/,
  pptxgenjs: /^writeFile$/,
  sharp: /^toFile$/,
  jimp: /^write(?:Async)?$/,
  'docx-templates': /^$/,
  pdfkit: /^$/,
  'pdf-lib': /^$/,
  docx: /^$/,
  archiver: /^$/,
};
/** Verbs by which clients of services change something; too common to say so of things that are not known to be one. */
const OWN_WRITES = new Set(
  wordsIn(
    'join leave kick finalize confirm capture pay void refund dispatch request dismiss run untrash queue vote react tweet retweet del pull push build prune re release quick mutate mutation accept process provision block unblock mute unmute pin unpin flag snooze reopen acknowledge resolve transition convert split detach associate disassociate authorize deauthorize activate deactivate suspend reactivate regenerate rotate retry rerun redeploy reindex transact message force latest',
  ),
);
const OWN_READS = new Set(
  wordsIn(
    'history replies members me log logs version versions stats top messages conversations all indices health mget msearch scroll group team viewer receive decrypt encrypt converse heartbeat near bm25 hybrid recommend rerank simulate assume first',
  ),
);
const OWN_OPEN = new Set(
  wordsIn('exec invoke rpc call execute command eval evaluate connect api fetch'),
);

/** Returns what a browser's or a device's method does. */
function inBrowser(
  name: string,
  call: string,
  args: readonly KnownValue[],
): readonly CallEffect[] | undefined {
  const key = name.toLowerCase().replace(/^\$+(?:eval)?$/, 'queryselector');
  if (
    /^(?:screenshot|pdf|storagestate|stop)$/.test(key) &&
    typeof args[0] === 'object' &&
    args[0] !== null &&
    Object.hasOwn(args[0], 'path')
  )
    return [
      fieldOf(args[0], 'path') === undefined
        ? undecided('fs-write', call)
        : writes('fs-write', call, true, true),
    ];
  if (/^setdefault\w*timeout$/.test(key)) return [];
  // With an address, WebDriver goes there; without one, and elsewhere, it is asked for.
  if (/^(?:url|get|to)$/.test(key))
    return [
      args.length > 0 && /^(?:selenium|webdriver)/.test(call)
        ? writes('browser-action', call)
        : reads('browser-action', call),
    ];
  if (key === 'saveas') return [writes('fs-write', call, true, true)];
  if (
    key === 'evaluate' ||
    key === 'evaluatehandle' ||
    key === 'evaluateall' ||
    key === 'send' ||
    key === 'execute' ||
    key === 'executescript' ||
    key === 'executeasync'
  )
    return [undecided('browser-action', call)];
  if (BROWSER_READS.has(key) || key === 'pdf') return [reads('browser-action', call)];
  if (BROWSER_WRITES.has(key))
    return [
      writes(
        'browser-action',
        call,
        ...(BROWSER_ACTS.has(key)
          ? ([true, false] as const)
          : BROWSER_SETS.has(key)
            ? ([true, true] as const)
            : ([null, null] as const)),
      ),
    ];
  return /^(?:get|find|is|are|wait|take)[A-Z]/.test(name)
    ? [reads('browser-action', call)]
    : undefined;
}

function onFiles(
  pkg: string,
  name: string,
  args: readonly KnownValue[],
): readonly CallEffect[] | undefined {
  const call = `${pkg}.${name}`;
  const plain = name.replace(/Sync$/, '');
  if (pkg === 'fs-extra' || pkg === 'graceful-fs' || pkg === 'memfs') {
    if (/^(?:output|write|ensure)/.test(plain) && plain !== 'write')
      return [writes('fs-write', call, !plain.startsWith('ensure'), true)];
    if (/^(?:remove|emptyDir|emptydir|move|copy)$/.test(plain))
      return [writes('fs-write', call, true, true)];
    return /^(?:readJson|readJSON|pathExists)$/.test(plain)
      ? [reads('fs-read', call)]
      : builtinEffects('fs', [name], args);
  }
  const isMaking = /^(?:mkdirp|make-dir|tmp|tmp-promise|temp|tempy)$/.test(pkg);
  if (FILE_WRITES[pkg]!.test(plain === '' ? 'default' : plain))
    return [writes('fs-write', call, !isMaking, isMaking ? null : true)];
  return /^(?:read|get|has|load|list|open|t$)/.test(plain) ? [reads('fs-read', call)] : [];
}

/** A read that also changes what it found, or makes what it did not find. */
const AND_WRITES =
  /(?:And|Or)(?:Update|Upsert|Delete|Replace|Remove|Modify|Create|Insert|Save)(?=[A-Z]|$)/;
/** Settings of a client, which stay in it. */
const OF_CLIENT =
  /^set(?:Api|Access|Auth|Credentials|Token|Headers?$|Timeout|Base|Endpoint|Region|Logger|Log|Options|Config|Debug|UserAgent|Proxy)/;
/** Things that clients make in the program, whoever they belong to. */
const MADE_HERE = new Set(
  wordsIn(
    'client connection transport context instance reader writer buffer builder element interface socket logger parser url agent pool hash',
  ),
);

const DOES_AS_TOLD = new Set(wordsIn('run execute exec invoke call command perform dispatch'));

/** Reads the access of a method off its name. `isOwn` is true for a receiver that is known to be a client of a package. */
function byName(
  name: string,
  call: string,
  read: EffectKind,
  write: EffectKind,
  isOwn: boolean,
  isBare: boolean,
): readonly CallEffect[] | undefined {
  const words = wordsOfName(name);
  const [verb = '', next] = words;
  const one = words.length === 1;
  if (AND_WRITES.test(name))
    return isOwn || verb === 'find'
      ? [writes(write, call, /Create|Insert/.test(name) ? false : null, null)]
      : undefined;
  if (isOwn && (OF_CLIENT.test(name) || (verb === 'create' && words.at(-1) === 'stream')))
    return /ReadStream$/.test(name)
      ? [reads(read, call)]
      : /WriteStream$/.test(name)
        ? [writes(write, call)]
        : [];
  if (READ_VERBS.has(verb) && !(isOwn && name === 'untrash'))
    return isOwn || !one ? [reads(read, call)] : undefined;
  // What is run says its argument, as in runCommand({ dbStats: 1 }).
  if (DOES_AS_TOLD.has(verb)) return isOwn || !one ? [undecided(write, call)] : undefined;
  const how =
    WRITE_VERBS.get(verb) ??
    (!one && /^(?:batch|bulk|async|do|force|soft|hard|multi|unsafe|mass|try|transact)$/.test(verb)
      ? WRITE_VERBS.get(next!)
      : undefined);
  if (how === undefined) {
    if (!isOwn) return undefined;
    if (OWN_OPEN.has(verb)) return verb === 'connect' && one ? [] : [undecided(write, call)];
    if (
      words.length > 1 &&
      words.slice(1).some((word) => READ_VERBS.has(word)) &&
      !OWN_WRITES.has(verb)
    )
      return [reads(read, call)];
    if (words.slice(0, 2).some((word) => READ_VERBS.has(word))) return [reads(read, call)];
    if (OWN_READS.has(verb)) return [reads(read, call)];
    const last =
      WRITE_VERBS.get(words.at(-1)!) ?? (words.length > 1 ? WRITE_VERBS.get(next!) : undefined);
    return OWN_WRITES.has(verb)
      ? [writes(write, call, verb === 'del' ? true : null, verb === 'del' ? true : null)]
      : last === undefined || one
        ? undefined
        : [undecided(write, call)];
  }
  if (!one && verb === 'create' && (isOwn ? MADE_HERE : OWN_THINGS).has(next!)) return undefined;
  if (!one && !isOwn && OWN_THINGS.has(words.at(-1)!) && !/(?:Pull|Merge)Request$/.test(name))
    return undefined;
  if (!isOwn && (one || /^(?:set|add|push|append|clear|abort)$/.test(verb)))
    return one && !BARE.has(verb) ? [undecided(write, call)] : undefined;
  // Without an argument, the client itself may be what is closed or cleared.
  return isOwn && isBare && one && BARE.has(verb)
    ? [undecided(write, call)]
    : [writes(write, call, ...how)];
}

/** Returns true for a package whose methods are told by a table, and not by the verbs in their names. */
export const isKnownPackage = (pkg: string): boolean =>
  [HARMLESS, MODELS, BROWSERS, SQL_DATABASES, DATABASES, HTTP_CLIENTS, PROGRAMS].some((has) =>
    has(pkg),
  );

/**
 * Returns what a call of a package's client does, by what its documentation says, or else by the verb in its name.
 *
 * @param packageName undefined where the receiver is not known; then only names that say what they change count.
 * @param path the names from the package on; `()` stands for the result of a call.
 * @returns `undefined` where nothing is known of it.
 */
export function clientEffects(
  packageName: string | undefined,
  path: readonly string[],
  args: readonly KnownValue[],
  known?: AuditKnowledge,
): readonly CallEffect[] | undefined {
  const names = path.filter((part) => part !== '()' && part !== 'default');
  const name = names.at(-1) ?? '';
  const pkg = packageName?.replace(/^node:/, '');
  const [first] = args;
  const call = `${pkg === undefined ? '' : `${pkg}: `}${names.slice(-3).join('.')}`.slice(0, 100);
  for (const key of [`${pkg ?? ''}.${name}`, name]) {
    if (known?.calls === undefined || !Object.hasOwn(known.calls, key)) continue;
    return known.calls[key] === 'none'
      ? []
      : [known.calls[key] === 'read' ? reads('net-read', call) : writes('net-write', call)];
  }
  if (pkg === undefined)
    return (
      inBrowserIfClear(name, call, args) ??
      byName(name, call, 'net-read', 'net-write', false, args.length === 0)
    );
  if (Object.hasOwn(FILE_WRITES, pkg) || /^(?:fs-extra|graceful-fs|memfs)$/.test(pkg))
    return onFiles(pkg, name, args);
  if (HARMLESS(pkg)) return [];
  if (pkg === 'tooldex')
    return /^(?:ok|fail|text|image|audio|file|resourceLink|halt|askUser)$/.test(names.join('.'))
      ? []
      : undefined;
  if (MODELS(pkg)) {
    if (/^(?:del$|delete|update|cancel|upload|remove|modify|archive)/.test(name))
      return [writes('net-write', call, !name.startsWith('upload'), true)];
    return [
      (names.some((each) => KEPT_BY_MODELS.test(each)) && /^(?:create|add|submit)/.test(name)) ||
      (pkg === 'ollama' && /^(?:pull|push|create|copy)$/.test(name))
        ? writes('net-write', call, false, false)
        : reads('net-read', call),
    ];
  }
  if (BROWSERS(pkg)) return inBrowser(name, call, args);
  if (PROGRAMS(pkg)) {
    const [program, list] = args;
    if (pkg === 'shelljs' && !/^(?:exec|cmd)$/.test(name))
      return programEffects(
        name,
        args.map((arg) => (typeof arg === 'string' ? arg : undefined)),
        known,
      );
    // What was started is told what to do, or listened to.
    if (names.length > 1 && /^(?:spawn|execa|fork|exec)/.test(names[0]!))
      return /^(?:write|kill|send)$/.test(name) ? [undecided('process-spawn', call)] : [];
    if (typeof program !== 'string') return [undecided('process-spawn', call)];
    const words = Array.isArray(list)
      ? list.map((each: KnownValue) => (typeof each === 'string' ? each : undefined))
      : [];
    return words.length === 0 && /\s/.test(program)
      ? programEffects('sh', ['-c', program], known)
      : programEffects(program, words, known);
  }
  if (pkg === 'simple-git' || pkg === 'isomorphic-git') return gitClient(name, args, call, known);
  if (HTTP_CLIENTS(pkg)) {
    const url = typeof first === 'string' ? first : textIn(first, 'url');
    // A class, or what a request gives back.
    if (
      /^[A-Z]/.test(name) ||
      names.slice(0, -1).some((each) => /^(?:get|head|post|put|patch|delete|del|fetch)$/.test(each))
    )
      return [];
    const verb = /^(?:get|head|options|post|put|patch|delete|del|query)$/.exec(name)?.[0];
    const told = textIn(first, 'method') ?? textIn(args[1], 'method');
    if (
      /^(?:create|extend|defaults|isAxiosError|CancelToken|Agent|ProxyAgent|setGlobalDispatcher|use|eject|interceptors|json|text|buffer|setHeader|set)$/i.test(
        name,
      )
    )
      return [];
    const isOpen = args.some((arg, at) =>
      arg === undefined
        ? at < 2 && (at === 1 || typeof first !== 'string')
        : typeof arg === 'object' && arg !== null && Object.hasOwn(arg, 'method'),
    );
    return httpEffects(
      verb === 'del' ? 'DELETE' : (verb ?? told ?? (isOpen ? undefined : 'GET')),
      url,
      args[1] === undefined ? fieldOf(first, 'data') : args[1],
    );
  }
  if (/^(?:redis|ioredis|@redis\/.+|@upstash\/redis)$/.test(pkg)) return inRedis(names, call, args);
  if (pkg === 'neo4j-driver' && /^(?:run|executeQuery)$/.test(name))
    return [
      typeof first !== 'string'
        ? undecided('db-write', call)
        : /\b(?:create|merge|delete|set|remove|drop|load\s+csv|foreach)\b/i.test(
              first.replace(/'[^']*'|"[^"]*"/g, "''"),
            )
          ? writes('db-write', call)
          : /\bcall\b(?!\s+db\.)/i.test(first)
            ? undecided('db-write', call)
            : reads('db-read', call),
    ];
  if (pkg === 'neo4j-driver' && /^execute(?:Read|Write)$/.test(name)) return []; // The function that it is given does it.
  const isSql = SQL_DATABASES(pkg);
  const isDatabase = isSql || DATABASES(pkg);
  if (isSql && SQL_METHODS.has(name.toLowerCase())) {
    if (names.slice(0, -1).includes('prepare')) return []; // Preparing the statement has told what it does.
    const texts = (Array.isArray(first) ? (first as readonly KnownValue[]) : [first]).map((each) =>
      typeof each === 'string'
        ? each
        : (textIn(each, 'text') ??
          textIn(each, 'sql') ??
          textIn(each, 'sqlText') ??
          textIn(each, 'query')),
    );
    return texts.flatMap((text) =>
      sqlEffects(name === 'pragma' && text !== undefined ? `PRAGMA ${text}` : text),
    );
  }
  if (/elasticsearch$|^@opensearch/.test(pkg) && name === 'index')
    return [writes('db-write', call)];
  if (/^mongo/.test(pkg) && name === 'aggregate') {
    const stages = Array.isArray(first) ? (first as readonly KnownValue[]) : [undefined];
    const isOut = stages.some(
      (stage) =>
        typeof stage === 'object' &&
        stage !== null &&
        (Object.hasOwn(stage, '$out') || Object.hasOwn(stage, '$merge')),
    );
    return [
      isOut
        ? writes('db-write', call, true)
        : stages.includes(undefined)
          ? undecided('db-write', call)
          : reads('db-read', call),
    ];
  }
  if (/^(?:request|graphql|rawRequest|GET|HEAD|POST|PUT|PATCH|DELETE)$/.test(name))
    return requestOf(name, args);
  const command = /^(\w+)Command$/.exec(name)?.[1];
  if (/^@aws-sdk\//.test(pkg)) {
    if (pkg === '@aws-sdk/lib-storage') return [writes('net-write', call, true, true)];
    if (command === undefined && (names.length < 2 || name === 'send' || name === 'destroy'))
      return [];
    return /^(?:Invoke(?:Model|Endpoint)|Converse|StartLiveTail)/.test(name)
      ? [reads('net-read', call)]
      : /^Start\w*(?:Query|Execution)/.test(name)
        ? [undecided('net-write', call)]
        : (byName(command ?? name, call, 'net-read', 'net-write', true, false) ?? [
            undecided('net-write', call),
          ]);
  }
  if (/^@modelcontextprotocol\//.test(pkg))
    return name === 'callTool' ? [undecided('net-write', call)] : [];
  if (pkg === 'nodemailer')
    return [/^send/.test(name) ? writes('net-write', call, false, false) : reads('net-read', call)];
  if (DESKTOP(pkg))
    return [
      /^(?:read|get|find|verify|grab|capture|width|height|color|has|is|show(?:Open|Save)Dialog|list|default$)/i.test(
        name === '' && /^(?:ps-list|active-win|screenshot-desktop)$/.test(pkg) ? 'get' : name,
      )
        ? reads('process-spawn', call)
        : /^(?:invoke|ipc|on|once|handle|set\w*Delay)/.test(name)
          ? undecided('process-spawn', call)
          : writes('process-spawn', call, true, null),
    ];
  if (/^mongo/.test(pkg) && /^(?:command|runCommand|eval)$/.test(name))
    return [undecided('db-write', call)];
  if (/^[A-Z]\w*$/.test(name) && names.length < 2) return []; // A class of the package: making one of it connects at most.
  // Connections and transactions: what is done within them counts.
  if (
    /Builder$/.test(names[0] ?? '') ||
    (isDatabase &&
      /^(?:release|close|end|connect|disconnect|begin\w*|commit\w*|rollback\w*|startTransaction|runTransaction|withTransaction|\$transaction|transaction|initialize|ping)$/.test(
        name,
      ) &&
      !names.includes('batch'))
  )
    return [];
  if (pkg === 'ws' || /^socket\.io/.test(pkg))
    return /^(?:send|emit)$/.test(name) ? [undecided('net-write', call)] : [];
  if (isSql && /^create\w*Job$/.test(name)) return sqlEffects(textIn(first, 'query'));
  const isOwn = names.length > 1 || path.length > 1 || /^firebase/.test(pkg);
  const isThing =
    (names.length > 2 && !/^(?:close|clear|reset|open|commit|save|load)$/.test(name)) ||
    /^get[A-Z]/.test(names.at(-2) ?? '') ||
    /^(?:delete|remove|destroy|archive|trash|kill|restart|abort|del)$/.test(name);
  if (/^(?:download|get)$/.test(name) && textIn(first, 'destination') !== undefined)
    return [writes('fs-write', call, true, true)];
  return byName(
    name,
    call,
    isDatabase ? 'db-read' : 'net-read',
    isDatabase ? 'db-write' : 'net-write',
    isOwn,
    args.length === 0 && !isThing,
  );
}

/** The commands of git of methods of its clients, where the words of the name are not those of the command. */
const GIT_METHODS: Readonly<Record<string, string>> = {
  branchLocal: 'branch',
  diffSummary: 'diff',
  getRemotes: 'remote',
  tags: 'tag',
  addTag: 'tag x',
  addAnnotatedTag: 'tag x',
  checkIsRepo: 'rev-parse',
  revparse: 'rev-parse',
  addConfig: 'config x y',
  getConfig: 'config x',
  listConfig: 'config list',
  mergeFromTo: 'merge',
  listRemote: 'ls-remote',
  firstCommit: 'log',
  statusMatrix: 'status',
  currentBranch: 'branch',
  listBranches: 'branch',
  listTags: 'tag',
  listFiles: 'ls-files',
  listRemotes: 'remote',
  resolveRef: 'rev-parse',
  expandRef: 'rev-parse',
  writeRef: 'update-ref',
  deleteRef: 'update-ref',
  deleteBranch: 'branch -D x',
  deleteLocalBranch: 'branch -D x',
  deleteLocalBranches: 'branch -D x',
  deleteTag: 'tag -d x',
  deleteRemote: 'remote remove x',
  removeRemote: 'remote remove x',
  checkoutLocalBranch: 'checkout',
  checkoutBranch: 'checkout',
  checkoutLatestTag: 'checkout',
  applyPatch: 'apply',
  updateIndex: 'update-index',
  setConfig: 'config x y',
  annotatedTag: 'tag x',
  renameBranch: 'branch -m x',
  pushTags: 'push',
};

function gitClient(
  name: string,
  args: readonly KnownValue[],
  call: string,
  known?: AuditKnowledge,
): readonly CallEffect[] {
  const given = args
    .flatMap((arg) => (Array.isArray(arg) ? (arg as readonly KnownValue[]) : [arg]))
    .map((arg) => (typeof arg === 'string' ? arg : undefined));
  if (
    /^(?:|simpleGit|gitP|cwd|env|outputHandler|customBinary|silent|clearQueue|exec|then)$/.test(
      name,
    )
  )
    return [];
  if (name === 'raw') return programEffects('git', given, known);
  if (
    /^read(?:Blob|Commit|Object|Tag|Tree|Note)$|^(?:find|is|walk|get|log|version|hash)/.test(
      name,
    ) &&
    !Object.hasOwn(GIT_METHODS, name)
  )
    return [reads('process-spawn', call)];
  const isNew =
    (name === 'branch' || name === 'tag') &&
    typeof args[0] === 'object' &&
    fieldOf(args[0], 'ref') !== undefined;
  const words = Object.hasOwn(GIT_METHODS, name)
    ? GIT_METHODS[name]!.split(' ')
    : /^(?:stash|submodule)(?=[A-Z])/.test(name)
      ? wordsOfName(name)
      : wordsOfName(name).slice(0, /^(?:add|remove)(?=[A-Z])/.test(name) ? 1 : undefined);
  const joined =
    Object.hasOwn(GIT_METHODS, name) || /^(?:stash|submodule)/.test(name)
      ? words
      : [words.join('-')];
  return programEffects(
    'git',
    [
      ...joined,
      ...(isNew
        ? ['x']
        : Object.hasOwn(GIT_METHODS, name)
          ? []
          : given.filter((word) => word !== undefined)),
    ],
    known,
  );
}

function inRedis(
  names: readonly string[],
  call: string,
  args: readonly KnownValue[],
): readonly CallEffect[] {
  const name = names.at(-1) ?? '';
  if (
    /^(?:on|once|off|connect|quit|disconnect|destroy|close|duplicate|createClient|createCluster|Redis|Cluster|multi|pipeline|default|removeListener|status|isOpen|isReady|options|exec|select|auth|use|unref)$/.test(
      name,
    ) &&
    (names.length < 3 || names.includes('multi') || names.includes('pipeline'))
  )
    return [];
  if (/^(?:sendCommand|call|eval|evalsha)$/i.test(name)) return [undecided('db-write', call)];
  const [first] = args;
  const key = `${name.toLowerCase()}${/^(?:config|client|memory|object|acl|slowlog|xinfo|latency|module|script)$/.test(name) && typeof first === 'string' ? first.toLowerCase() : ''}`;
  const isModule =
    (names.at(-2) === 'json' && /^(?:m?get|type|strlen|arrlen|objkeys|objlen)$/.test(key)) ||
    (names.at(-2) === 'ft' &&
      /^(?:search\w*|aggregate\w*|info|explain\w*|profile\w*|_list|tagvals)$/.test(key));
  if (names.length < 2 && name.startsWith('create')) return [];
  if (
    isModule ||
    (REDIS_READS.has(key) && names.at(-2) !== 'json' && names.at(-2) !== 'ft') ||
    REDIS_ASKS.test(key)
  )
    return [reads('db-read', call)];
  return [
    writes(
      'db-write',
      call,
      !/^(?:append|l?push|r?push|sadd|zadd|xadd|incr|decr|publish)/.test(key),
      /^(?:set|del|hset|sadd|expire)/.test(key),
    ),
  ];
}

/** A request with the method in a text before the path, in its options or in the name; or a GraphQL document. */
function requestOf(name: string, args: readonly KnownValue[]): readonly CallEffect[] {
  const [first, second] = args;
  if (/^[A-Z]+$/.test(name))
    return httpEffects(
      name,
      typeof first === 'string' ? first : undefined,
      fieldOf(second, 'body'),
    );
  const method =
    textIn(first, 'method') ??
    textIn(second, 'method') ??
    (typeof first === 'string' ? /^(GET|HEAD|POST|PUT|PATCH|DELETE) /.exec(first)?.[1] : undefined);
  if (method !== undefined)
    return httpEffects(
      method,
      typeof first === 'string'
        ? first.slice(method.length).trim()
        : (textIn(first, 'path') ?? textIn(first, 'url')),
      fieldOf(first, 'body'),
    );
  const query = [first, second, fieldOf(first, 'query'), fieldOf(first, 'document')].find(
    (text): text is string =>
      typeof text === 'string' &&
      /^\s*(?:#|query\b|mutation\b|fragment\b|subscription\b|\{)/.test(text),
  );
  return query === undefined
    ? [undecided('net-write', name)]
    : httpEffects('POST', 'graphql', { query });
}

const textIn = (value: KnownValue, key: string): string | undefined => {
  const text = fieldOf(value, key);
  return typeof text === 'string' ? text : undefined;
};

/** Methods of browsers' pages that no other object has. */
const CLEARLY_BROWSER =
  /^(?:dblclick|goto|goBack|goForward|selectOption|setInputFiles|setViewportSize|bringToFront|pressSequentially|dragTo|dragAndDrop|addCookies|clearCookies|setCookie|ariaSnapshot|waitForSelector|waitForLoadState|innerText|inputValue|evaluateOnNewDocument)$/;
const inBrowserIfClear = (name: string, call: string, args: readonly KnownValue[]) =>
  CLEARLY_BROWSER.test(name) ? inBrowser(name, call, args) : undefined;
