import { packagesIn } from './known-value.js';

/**
 * Packages for telemetry, logs and pure computation. Calls to these packages aren't treated as
 * effects.
 */
export const isHarmless = packagesIn(
  '@opentelemetry/* @sentry/* posthog* @segment/* mixpanel @amplitude/* amplitude amplitude-js ' +
    '@amplitude analytics winston winston-* pino pino-* bunyan log4js debug loglevel consola ' +
    'signale dd-trace newrelic applicationinsights statsig* @launchdarkly/* zod zod-* ajv ajv-* ' +
    'joi yup valibot superjson lodash lodash.* lodash-es ramda underscore chalk picocolors kleur ' +
    'ansi-* strip-ansi uuid nanoid ulid yaml js-yaml toml @iarna/toml smol-toml ini dotenv ' +
    'commander yargs yargs-parser minimist meow cac semver minimatch micromatch picomatch ignore ' +
    'date-fns date-fns-tz dayjs luxon moment moment-timezone ms cheerio jsdom linkedom parse5 ' +
    'htmlparser2 turndown turndown-* marked markdown-it* remark* rehype* unified diff fast-* qs ' +
    'query-string mime mime-types mime-db he entities slugify camelcase change-case iconv-lite ' +
    'tiktoken gpt-tokenizer @babel/* acorn esprima typescript @typescript-eslint/* jsonpath ' +
    'jsonpath-plus jmespath json5 jsonc-parser papaparse csv-parse csv-stringify fuse.js lunr ' +
    'minisearch string-* p-limit p-queue p-retry async-mutex async-retry bottleneck lru-cache ' +
    'quick-lru node-cache tslib rxjs immer express fastify koa hono @hono/* cors body-parser ' +
    'helmet bn.js bignumber.js big.js decimal.js mathjs crypto-js jose jsonwebtoken bcrypt ' +
    'bcryptjs tweetnacl @noble/* graphql graphql-tag @modelcontextprotocol/sdk/types* zod-to- ' +
    'json-schema inversify tsyringe reflect-metadata eventemitter3 mitt undici-types which is-* ' +
    'normalize-* escape-* wrap-ansi cli-* boxen ora figlet table tree-sitter tree-sitter-* web- ' +
    'tree-sitter @xmldom/* fast-xml-parser xml2js sax pdf-parse pdfjs-dist mammoth sharp jimp ' +
    'pngjs exifr exif-parser gray-matter handlebars mustache ejs nunjucks liquidjs googleapis- ' +
    'common google-auth-library @azure/identity @aws-sdk/credential-* @aws-sdk/s3-request- ' +
    'presigner @smithy/* fastmcp mcp-framework openapi-types openapi-typescript',
);
/** Clients of language models. Asking a model changes nothing. */
export const isModel = packagesIn(
  'openai @anthropic-ai/* @google/genai @google/generative-ai groq-sdk cohere-ai @mistralai/* ' +
    'replicate @huggingface/* ollama @ai-sdk/* ai voyageai together-ai exa-js tavily @tavily/*',
);
export const isBrowser = packagesIn(
  'playwright* @playwright/* patchright* rebrowser-* puppeteer* chrome-remote-interface ' +
    'selenium-webdriver webdriver webdriverio appium* @browserbasehq/stagehand @mobilenext/*',
);
/** Database clients whose methods take SQL. */
export const isSqlDatabase = packagesIn(
  'pg pg-* postgres @neondatabase/serverless mysql mysql2 mariadb better-sqlite3 sqlite sqlite3 ' +
    'sql.js @libsql/* libsql knex kysely sequelize typeorm drizzle-orm @prisma/* prisma ' +
    'cassandra-driver mssql tedious oracledb snowflake-sdk duckdb duckdb-async @duckdb/* ' +
    '@clickhouse/* @google-cloud/bigquery @google-cloud/spanner @planetscale/* @databricks/sql ' +
    'surrealdb',
);
export const isDatabase = packagesIn(
  'mongodb mongoose redis ioredis @redis/* @upstash/redis @upstash/vector @supabase/* ' +
    'neo4j-driver @elastic/* elasticsearch @opensearch-project/* @pinecone-database/* @qdrant/* ' +
    'chromadb weaviate* @zilliz/* @google-cloud/firestore @google-cloud/datastore firebase ' +
    'firebase-admin level leveldb classic-level lmdb nedb @seald-io/nedb lowdb couchbase nano ' +
    'rethinkdb influx @influxdata/* dexie @azure/cosmos @lancedb/* vectordb meilisearch typesense ' +
    'algoliasearch',
);
export const isHttpClient = packagesIn(
  'axios got ky node-fetch undici superagent needle cross-fetch request request-promise phin ' +
    'bent ofetch wretch isomorphic-fetch make-fetch-happen gaxios',
);
/** Packages that start programs. */
export const isStarter = packagesIn(
  'execa cross-spawn tinyexec nano-spawn zx shelljs spawn-please node-pty @lydell/node-pty ' +
    'promisify-child-process',
);

/**
 * Returns true if a table knows the package's methods, so that the verbs in their names can be
 * ignored.
 */
export const isKnownPackage = (pkg: string): boolean =>
  [isHarmless, isModel, isBrowser, isSqlDatabase, isDatabase, isHttpClient, isStarter].some((has) =>
    has(pkg),
  );
