import type { ToolHints } from '../src/index.js';
import hints from './default-tool-hints.json' with { type: 'json' };

/** Hints for the tools of `createDefaultTools`: `new ToolMetadataRegistry({ hints: defaultToolHints })`. */
export const defaultToolHints: ToolHints = hints;
