import { ToolMetadataRegistry } from './tool-metadata-registry.js';

/** The key of this version's registry on `globalThis`; a test compares it with package.json. */
const KEY = Symbol.for('tooldex/0.1.0/default-registry');
const shared = globalThis as { [KEY]?: ToolMetadataRegistry };

/**
 * A registry for programs that need only one. It is empty until the program registers something.
 *
 * A process that loads both builds of the package, ESM and CommonJS, has one of it: what a library registered through
 * `require` is there for a program that uses `import`.
 */
export const defaultRegistry = (shared[KEY] ??= new ToolMetadataRegistry());
