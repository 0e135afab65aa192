import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { globSync } from 'tinyglobby';
import { defineConfig, type Options } from 'tsup';
import { manifestJsonSchema } from './src/capability/manifest/manifest-entry.js';
import { PAGE_FILES } from './src/http/page-files.js';

/** Puts the page's files into the package as data in place of the module that bundles it from its sources. */
const embedPage: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'embed-page',
  setup: (build) =>
    build.onLoad({ filter: /[\\/]page-files\.ts$/ }, () => {
      // The libraries of the page are in its script.
      for (const name of ['htm', 'preact']) bundled.add(`node_modules/${name}`);
      return {
        contents: `export const PAGE_FILES = Object.freeze(${JSON.stringify(PAGE_FILES)});`,
      };
    }),
};

/** Puts the JSON Schema of manifests into the package, for editors. */
const writeSchema: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'write-schema',
  setup: (build) =>
    build.onEnd(async () => {
      await mkdir('dist', { recursive: true });
      await writeFile(
        'dist/manifest.schema.json',
        `${JSON.stringify(manifestJsonSchema, null, 2)}\n`,
      );
    }),
};

const ROOT_ENTRY = 'src/index.ts';
const ENTRIES = {
  index: ROOT_ENTRY,
  tools: 'tools/index.ts',
  providers: 'src/providers.ts',
  state: 'src/state.ts',
  testing: 'src/testing.ts',
  capability: 'src/capability.ts',
  http: 'src/http.ts',
  mcp: 'src/mcp.ts',
  interop: 'src/interop.ts',
  nestjs: 'src/nestjs.ts',
  openapi: 'src/openapi.ts',
  chat: 'src/chat.ts',
  load: 'src/load.ts',
  audit: 'src/audit.ts',
  eslint: 'src/eslint.ts',
};
/**
 * Puts what the root entry point loads into one chunk, but for what the command line needs to show its help: reading 34 files took a quarter of the time of `import 'tooldex'`.
 *
 * A module goes into the chunk of exactly the entry points that reach it. So each of them imports the root, and so do the
 * modules that are loaded on demand.
 */
const oneChunkForTheRoot: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'one-chunk-for-the-root',
  setup: (build) => {
    const entries = Object.values(ENTRIES).filter((entry) => entry !== ROOT_ENTRY);
    build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const file = relative('.', path);
      if (!entries.includes(file) && !LOADED_ON_DEMAND.test(file)) return undefined;
      return {
        contents: `${readFileSync(path, 'utf8')}\nimport ${JSON.stringify(resolve(ROOT_ENTRY))};`,
        loader: 'ts',
        resolveDir: dirname(path),
      };
    });
  },
};
const LOADED_ON_DEMAND =
  /^src\/(?:capability\/capability-registry|load\/load-tools|cli\/(?:chat|commands|execute|load)\/|chat\/language-model-step)/;

const TYPES = 'dist/types';

/**
 * Writes one declaration file for each source file, so that an editor's "go to definition" ends in a file that one can
 * read; beside each `.d.ts` a `.d.cts` for CommonJS. Files that no entry point's types lead to are left out.
 */
function emitDeclarations(): Promise<void> {
  const compiler = ['node_modules/typescript7/bin/tsc', '-p', 'tsconfig.build.json'];
  const { status, stdout } = spawnSync(process.execPath, compiler, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`The declarations are not emitted:\n${stdout}`);
  const reached = new Set(
    Object.values(ENTRIES).map((entry) => join(TYPES, entry.replace(/\.ts$/, '.d.ts'))),
  );
  for (const file of reached) {
    const text = readFileSync(file, 'utf8').replace(ARRAY_OF_BUFFER, '$1');
    writeFileSync(file, text);
    for (const [, specifier] of text.matchAll(RELATIVE))
      reached.add(join(dirname(file), specifier!.replace(/\.js$/, '.d.ts')));
    writeFileSync(
      file.replace(/\.d\.ts$/, '.d.cts'),
      text.replace(RELATIVE, (found) =>
        found.replace(/\.js(?=')/, '.cjs').replace(/\.js(?=")/, '.cjs'),
      ),
    );
  }
  for (const file of globSync(`${TYPES}/**/*.d.ts`)) if (!reached.has(file)) rmSync(file);
  return Promise.resolve();
}

/** Typed arrays take no type argument before TypeScript 5.7. */
const ARRAY_OF_BUFFER = /\b((?:Big)?(?:Uint|Int|Float)\d+(?:Clamped)?Array)<ArrayBuffer(?:Like)?>/g;
const RELATIVE = /(?:from |import\(|import )["'](\.{1,2}\/[^"']+\.js)["']/g;

/** The folders of the libraries whose code is in the package: development dependencies that `src` and `tools` import, and what those import. */
const bundled = new Set<string>();

/** Bundles libraries as ES modules need them, and notes which they are. */
const bundleLibraries: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'bundle-libraries',
  setup: (build) => {
    // Commander is CommonJS, whose way to the modules of Node does not exist in an ES module.
    build.onLoad(
      { filter: /[\\/]node_modules[\\/]commander[\\/]lib[\\/]\w+\.js$/ },
      ({ path }) => ({
        contents: readFileSync(path, 'utf8').replace(
          /\brequire\(('node:[\w/]+')\)/g,
          'globalThis.process.getBuiltinModule($1)',
        ),
      }),
    );
    // Its file for Node is CommonJS, too; the one for browsers is an ES module that says the same.
    build.onResolve({ filter: /^yaml$/ }, () => ({
      path: resolve('node_modules/yaml/browser/index.js'),
    }));
    // It looks for a package that tinyglobby does not need, in a way that CommonJS does not have.
    build.onLoad({ filter: /[\\/]node_modules[\\/]fdir[\\/]dist[\\/]index\.mjs$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(
        /createRequire\(import\.meta\.url\)/,
        'undefined',
      ),
    }));
    build.onEnd(({ metafile }) => {
      const inputs = Object.values(metafile?.outputs ?? {}).flatMap((output) =>
        Object.keys(output.inputs),
      );
      for (const input of inputs) {
        const [folder] = /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(input) ?? [];
        if (folder !== undefined) bundled.add(folder);
      }
    });
  },
};

/**
 * Rewrites what tsup makes of `import()` in the CommonJS build. Users' files are imported again, since they may be ES
 * modules. Packages are required without a function around it: webpack tolerates a missing package only if `require`
 * stands directly in `try`.
 */
function repairImportsInCommonJs(): void {
  for (const file of globSync('dist/*.cjs')) {
    const text = readFileSync(file, 'utf8');
    const next = text
      .replace(
        /Promise\.resolve\(\)\.then\(\(\) => _interopRequireWildcard\(require\((\s*\/\* webpackIgnore[^"()]*)\)\)\)/g,
        'import($1)',
      )
      .replace(
        /Promise\.resolve\(\)\.then\(\(\) => (_interopRequireWildcard\(require\("[^"./][^"]*"\)\))\)(?!\.)/g,
        '$1',
      );
    if (next !== text) writeFileSync(file, next);
  }
}

/**
 * Writes what is bundled into the package: the licences, which ask to be passed on, and a CycloneDX 1.6 file, without which
 * scanners of vulnerabilities would not see these libraries. Equal builds give equal bytes.
 */
function writeInventory(): void {
  const libraries = [...bundled].sort().map((folder) => {
    const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
    if (file === undefined)
      throw new Error(`Expected a licence in ${folder}, got none. Do not bundle it.`);
    const { name, version, license } = readManifest(`${folder}/package.json`);
    const text = readFileSync(`${folder}/${file}`, 'utf8').trim();
    return { ...componentOf({ name, version, license }), text };
  });
  const texts = libraries.map(({ name, version, text }) => `${name} ${version}\n\n${text}\n`);
  writeFileSync('dist/THIRD-PARTY-LICENSES.txt', texts.join('\n'));
  const inventory = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: componentOf(readManifest('package.json')) },
    components: libraries.map(({ text: _, ...component }) => component),
  };
  writeFileSync('dist/bundled.cdx.json', `${JSON.stringify(inventory, null, 2)}\n`);
}

type Manifest = Readonly<Record<'name' | 'version' | 'license', string>>;

function readManifest(file: string): Manifest {
  return JSON.parse(readFileSync(file, 'utf8')) as Manifest;
}

function componentOf({ name, version, license }: Manifest) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    purl,
    licenses: [{ license: { id: license } }],
  };
}

// `--no-dts` leaves the declarations out, for a build that is only run.
export default defineConfig(({ dts }) => ({
  entry: {
    ...ENTRIES,
    cli: 'src/cli/main.ts',
  },
  format: ['esm', 'cjs'],
  target: 'node20',
  // Installed in place of TypeScript 7, so it isn't installed here.
  external: ['@typescript/typescript6'],
  dts: false,
  onSuccess: async () => {
    repairImportsInCommonJs();
    writeInventory();
    if (dts !== false) await emitDeclarations();
  },
  esbuildPlugins: [embedPage, writeSchema, oneChunkForTheRoot, bundleLibraries],
  // Some libraries have their ES modules there only.
  esbuildOptions: (options, { format }) => {
    options.mainFields = ['module', 'main'];
    // The imports that put the root into one chunk are only there to be followed.
    options.logOverride = { 'ignored-bare-import': 'silent' };
    // The program is an ES module: a library of the command line cannot be CommonJS.
    if (format === 'cjs') options.entryPoints = ENTRIES;
  },
  // Bundlers and other runtimes tell built-in modules from packages by the prefix.
  removeNodeProtocol: false,
  splitting: true,
  treeshake: false,
  sourcemap: false,
  clean: true,
}));
