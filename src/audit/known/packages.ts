import type { EffectKind } from '../effect.js';

/** The effects of packages' calls as their documentation describes them, by lowercase name. `*` is any other name. */
interface Row {
  readonly packages: string;
  readonly kind: EffectKind;
  readonly reads?: string;
  readonly writes?: string;
  /** Calls without an effect: they configure, wait, or build what another call sends. */
  readonly quiet?: string;
  /** True if the verb at the start of a method's name says what the method does. */
  readonly verbs?: boolean;
}

const STREAM = `on once off addlistener removelistener removealllisteners pipe unpipe close end destroy setencoding
  setheader read resume pause cork uncork setmaxlisteners prependlistener iterator abort unref ref setNoDelay flush`;
const BUILDER = `where andwhere orwhere wherein wherenot wherenull wherenotnull wherebetween whereraw wherelike whereilike
  join leftjoin innerjoin rightjoin fulljoin leftjoinandselect innerjoinandselect from into orderby addorderby
  groupby having limit offset returning values set as with using lean sort skip exec then toarray populate addselect
  selectall andwhereexists on onconflict distinct distinctOn eq neq gt gte lt lte and or not inarray ilike like isnull
  between asc desc model schema table collection db database connection getrepository createquerybuilder
  startsession withtransaction transaction $transaction $connect $disconnect connect disconnect release close end
  destroy initialize toquery tosql clone modify setparameter setparameters take cursor project hint maxtimems
  alias ref fn sql val transacting sequelize define literal authenticate use auth $extends array session hydrate slice
  projection id collation connectdb createconnection createpool createclient doc ref onconflictdonothing $dynamic`;

export const ROWS: readonly Row[] = [
  {
    packages: 'fs fs-extra graceful-fs',
    kind: 'files',
    reads: `access exists pathexists fstat glob lstat openasblob opendir read readfile readjson readlines readv readdir
      readlink realpath stat statfs createreadstream watch watchfile readablewebstream native`,
    writes: `appendfile chmod chown copyfile copy cp createwritestream createfile createlink createsymlink emptydir
      emptydir ensuredir ensurefile ensurelink ensuresymlink fchmod fchown ftruncate futimes lchmod lchown link lutimes
      mkdir mkdirp mkdirs mkdtemp mkdtempdisposable move outputfile outputjson remove rename rm rmdir symlink truncate
      unlink utimes write writefile writejson writev writestream`,
    quiet: `${STREAM} isfile isdirectory issymboliclink isfifo issocket isblockdevice ischaracterdevice fsync fdatasync
      unwatchfile next readstream sync datasync getasyncid isencoding [symbol.asyncIterator] [symbol.asyncDispose]`,
  },
  {
    packages:
      'mkdirp write-file-atomic cpy make-dir trash del rimraf move-file cp-file extract-zip tempy',
    kind: 'files',
    writes: '*',
  },
  {
    packages: 'jsonfile load-json-file write-json-file write-pkg read-pkg lowdb',
    kind: 'files',
    verbs: true,
  },
  {
    packages: 'conf configstore electron-store node-persist',
    kind: 'files',
    reads: 'get has size store all path',
    writes: 'set delete clear reset',
    quiet: 'conf configstore electron-store onDidChange',
  },
  { packages: 'sharp jimp', kind: 'files', writes: 'tofile write writeasync', quiet: '*' },
  {
    packages: 'exceljs xlsx',
    kind: 'files',
    writes: 'writefile writefilexlsx writefileasync',
    quiet: '*',
  },
  {
    packages: 'glob fast-glob globby tinyglobby chokidar find-up pkg-up locate-path',
    kind: 'files',
    reads: '*',
  },
  {
    packages: 'dotenv',
    kind: 'environment',
    reads: 'parse',
    writes: 'config configdotenv populate',
  },
  {
    packages: `assert async_hooks buffer console constants crypto diagnostics_channel events os path perf_hooks punycode
      querystring readline stream string_decoder timers tty url util zlib test`,
    kind: 'memory',
    writes: 'setpriority',
    quiet: '*',
  },
  {
    packages: 'dns',
    kind: 'network',
    reads: 'lookup lookupservice resolve* reverse',
    quiet: 'resolver',
  },
  {
    packages: 'http https',
    kind: 'network',
    reads: 'get',
    quiet: `${STREAM} write agent flushheaders settimeout getheader validateheadername validateheadervalue`,
  },
  {
    packages: 'module v8 cluster net tls dgram http2 worker_threads vm inspector repl wasi',
    kind: 'program',
    quiet:
      'isip isipv4 isipv6 createrequire serialize deserialize getheapstatistics check addsubnet addrange addaddress blocklist callback',
  },
  {
    packages: `zod lodash lodash-es lodash.* ramda remeda underscore date-fns dayjs moment luxon @js-joda/* uuid nanoid ulid
      cuid slugify chalk kleur picocolors ansi-* strip-ansi wrap-ansi string-width yaml js-yaml toml jsonc-parser json5 @iarna/toml ini csv-parse
      csv-stringify papaparse fast-csv marked markdown-it turndown remark* rehype* unified cheerio linkedom jsdom
      htmlparser2 parse5 he entities semver minimatch picomatch micromatch ignore ajv joi yup valibot superstruct @sinclair/typebox
      arktype io-ts class-validator class-transformer p-* async-retry promise-retry async ts-pattern neverthrow
      fp-ts effect immer immutable fast-deep-equal deep-equal deepmerge qs query-string url-join form-data mime
      mime-types content-type accepts iconv-lite bignumber.js decimal.js big.js mathjs crypto-js jose jsonwebtoken
      bcrypt bcryptjs argon2 tweetnacl @noble/* graphql graphql-tag inversify tsyringe awilix typedi reflect-metadata
      events eventemitter3 mitt nanoevents emittery rxjs pino winston bunyan debug loglevel consola signale log4js
      npmlog tslog @opentelemetry/* fuse.js minisearch lunr flexsearch natural compromise franc diff
      jsdiff fast-json-patch jsonpath jsonpath-plus jmespath handlebars mustache ejs nunjucks liquidjs xml2js fast-xml-parser
      sax gray-matter pdf-parse mammoth pngjs exifr tslib type-fest ms bytes pretty-bytes
      pretty-ms humanize-duration cron-parser chrono-node validator libphonenumber-js email-validator tiktoken
      gpt-tokenizer @nestjs/common @nestjs/core express-validator http-errors statuses he change-case camelcase ts-morph
      lru-cache quick-lru node-cache keyv dataloader memoizee mem p-memoize bottleneck opossum cockatiel google-auth-library`,
    kind: 'memory',
    quiet: '*',
  },
  {
    packages: `openai @anthropic-ai/sdk @google/genai @google/generative-ai groq-sdk cohere-ai @mistralai/mistralai
      replicate ollama ai @ai-sdk/* voyageai together-ai exa-js @tavily/core`,
    kind: 'network',
    writes: 'upload delete cancel',
    reads: '*',
  },
  {
    packages: 'playwright playwright-core puppeteer puppeteer-core @playwright/test',
    kind: 'network',
    reads: `goto content title url textcontent innertext innerhtml screenshot pdf waitfor* getattribute isvisible count
      inputvalue all alltextcontents boundingbox isenabled $ $$ $eval $$eval cookies reload goback hover scroll* metrics`,
    writes: `click fill type press check uncheck selectoption setinputfiles dragto dblclick tap evaluate evaluatehandle
      select uploadfile dispatchevent addcookies setcookie clear presssequentially`,
    quiet: `launch connect newpage newcontext close locator getby* first last nth filter setviewport* setdefault*
      route on off once browser page context keyboard mouse frames mainframe setuseragent setextrahttpheaders`,
  },
  {
    packages: 'redis ioredis @redis/client @upstash/redis',
    kind: 'database',
    reads: `get mget getrange strlen hget hmget hgetall hkeys hvals hlen hexists keys scan hscan sscan zscan scaniterator
      exists ttl pttl lrange lindex llen scard smembers sismember smismember srandmember sinter sunion sdiff
      zcard zcount zrange zrangebyscore zrevrange zscore zrank zrevrank zrangewithscores xlen xrange xrevrange xread xinfo
      info ping dbsize memory object bitcount getbit pfcount geodist geopos georadius geosearch time echo randomkey dump`,
    quiet: `${STREAM} redis createclient connect quit disconnect duplicate multi pipeline exec select auth subscribe
      psubscribe isopen isready`,
    writes: '*',
  },
  {
    packages:
      'mongodb mongoose typeorm knex kysely drizzle-orm sequelize sequelize-typescript @prisma/client @mikro-orm/* objection',
    kind: 'database',
    verbs: true,
    quiet: `${BUILDER} mongoclient objectid datasource prismaclient knex`,
    reads: `countdocuments exist pluck first min max sum avg select selectdistinct selectfrom stream max fetch getone getmany
      getrawone getrawmany getcount getmanyandcount find estimateddocumentcount columninfo watch listcollections tables`,
    writes: `insert* update* delete* del truncate increment decrement save remove soft* restore recover replace* bulk* mergeinto
      replaceinto flush persist* persistandflush nativeupdate nativeinsert nativedelete insertinto updatetable deletefrom
      destroy* upsert* createtable droptable altertable syncindexes sync synchronize initializeorderedbulkop drop*`,
  },
  {
    packages: `pg pg-pool pg-promise postgres @neondatabase/serverless mysql mysql2 mariadb better-sqlite3 sqlite sqlite3 sql.js
      @libsql/client mssql tedious oracledb snowflake-sdk duckdb @duckdb/node-api @clickhouse/client @google-cloud/bigquery
      @google-cloud/spanner @planetscale/database cassandra-driver bun:sqlite`,
    kind: 'database',
    writes: 'backup loadextension',
    quiet: `${BUILDER} ${STREAM} pool client database begintransaction begin commit rollback prepare finalize bind step
      getasobject pluck safeintegers pgp connectionpool request input promise createpool json unref tx`,
  },
  {
    packages: `@supabase/* neo4j-driver @elastic/* @opensearch-project/* @pinecone-database/* @qdrant/* chromadb weaviate-client
      @google-cloud/firestore @google-cloud/datastore firebase firebase-admin level classic-level lmdb nedb couchbase nano
      influx @azure/cosmos @lancedb/lancedb meilisearch typesense algoliasearch dexie etcd3 idb`,
    kind: 'database',
    verbs: true,
    quiet: `${BUILDER} createclient initializeapp getfirestore app firestore pinecone client
      index namespace`,
    reads: 'onsnapshot select single maybesingle multisearch',
    writes: 'rpc',
  },
  {
    packages: `@octokit/* googleapis @googleapis/* googleapis-common stripe @slack/* @notionhq/client twilio @sendgrid/* resend
      postmark mailgun.js @mailchimp/* @hubspot/* airtable @linear/sdk jira.js asana trello.js discord.js telegraf
      grammy @line/bot-sdk @google-cloud/* @azure/* minio @aws-sdk/lib-storage aws-sdk cloudinary contentful*
      @sanity/client @sentry/* @datadog/* dropbox @dropbox/* box-node-sdk @microsoft/* @kubernetes/client-node dockerode
      @gitbeaker/* intercom-client zendesk-node-api shopify-api-node @shopify/* plaid braintree square razorpay
      @paypal/* @adyen/* @mollie/* ssh2-sftp-client basic-ftp web-push expo-server-sdk node-telegram-bot-api twitter-api-v2
      spotify-web-api-node simple-git isomorphic-git imapflow mailparser @vercel/* @netlify/* cloudflare docker-modem
      @octokit/plugin-rest-endpoint-methods bullmq bull bee-queue agenda kafkajs amqplib nats @nestjs/bull* pg-boss
      graphile-worker node-cron node-schedule @temporalio/client @upstash/* nodemailer @aws-sdk/s3-request-presigner`,
    kind: 'network',
    verbs: true,
    quiet: `${STREAM} createtransport createclient promise json auth setapikey setcredentials set_auth drive sheets
      gmail calendar octokit hook plugin googleauth oauth2 bucket file container connect disconnect consumer producer
      getcontainerclient getblobclient getblockblobclient fromconnectionstring topic subscription isready signurl
      getsignedurl presigned* presignedgetobject table base defaults stripe client ready simplegit hash sort getqueue
      queue worker createchannel waituntilready verify setwebhook constructevent`,
    reads:
      'request_get selectall eachpage firstpage log diff show branch branchlocal tags revparse raw all first',
    writes: `request_post emit chat_post* conversations_* addlabels pull push fetch clone checkout sendmail add every now
      createtransport_ forward reply react message messages_create pin ban kick setlabels lock done`,
  },
  {
    packages: 'child_process execa cross-spawn tinyexec nano-spawn zx shelljs',
    kind: 'program',
    quiet: `${STREAM} which kill disconnect then send`,
  },
  {
    packages: `axios got ky node-fetch undici superagent needle cross-fetch ofetch wretch phin gaxios request bent
      isomorphic-fetch make-fetch-happen ky-universal @hapi/wreck request-promise`,
    kind: 'network',
    quiet: `create extend use eject clear json text arraybuffer blob buffer formdata bytes isaxioserror iscancel all spread
      on once pipe set type accept timeout retry auth redirects ok then catch attach field agent close destroy send
      defaults end geturi toformdata mergeconfig headers response paginate each has append foreach entries clone query
      httperror timeouterror`,
  },
  {
    packages: '@aws-sdk/* @smithy/*',
    kind: 'network',
    reads: 'paginate* waituntil*',
    quiet: 'destroy getsignedurl from* transformto*',
  },
  {
    packages: 'process',
    kind: 'environment',
    writes: 'kill abort exit reallyexit chdir umask set* initgroups dlopen loadenvfile',
    quiet: `cwd uptime hrtime bigint memoryusage cpuusage nexttick on once off emitwarning version rss resourceusage
      getuid getgid availablememory write`,
  },
  { packages: 'storage', kind: 'memory', reads: 'getitem key', writes: '*' },
  {
    packages: 'tooldex',
    kind: 'memory',
    quiet: `ok fail askuser halt text image audio file resourcelink toolerror istoolerror definetool tool toolkit metadataof
      reportprogress`,
    reads: 'get has require search filter summary list* getby* detect*',
  },
];

export const PAYMENTS = /^(?:stripe|braintree|square|razorpay|@paypal\/.*|@adyen\/.*|@mollie\/.*)$/;
