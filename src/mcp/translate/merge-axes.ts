import { AccessMode, SideEffect } from '../../core/enums.js';
import { axesFromAnnotations, type AnnotatedAxes } from '../../interop/tool-annotations.js';
import { inferAxes } from '../../tool/metadata/infer-metadata.js';
import type { McpServerSettings } from '../settings/mcp-settings.js';

/** What is assumed of a foreign tool that nobody says anything about; with it goes mixed access of high danger. */
const DEFAULTS = Object.freeze({ sideEffects: SideEffect.NETWORK, allowParallel: false, requiresConsent: true, idempotencyKey: false });

/**
 * The axes of a server's tool: what the settings say, then the hints, then the defaults of foreign tools.
 *
 * Where the settings say what the server's tools touch, hints can only tighten, trusted or not: the operator has the
 * last word on what is harmless, and an honest warning is still heard.
 */
export function mergeAxes(annotations: unknown, { trusted, overrides }: Pick<McpServerSettings, 'trusted' | 'overrides'>): AnnotatedAxes {
  const { version: _, category: __, ...said } = overrides;
  const open = said.sideEffects === undefined && said.accessMode === undefined;
  const { accessMode, ...hints } = axesFromAnnotations(annotations, { trusted: trusted && open });
  const merged = { ...DEFAULTS, ...hints, ...said };
  if (accessMode === undefined || merged.accessMode !== undefined) return merged;
  // That a tool writes is no news where the settings say how it does.
  const known = accessMode === AccessMode.MIXED && accessOf(merged.sideEffects) !== AccessMode.READONLY;
  return known ? merged : { ...merged, accessMode };
}

function accessOf(effects: SideEffect | readonly SideEffect[]): AccessMode {
  return inferAxes({ name: '', description: '', sideEffects: typeof effects === 'string' ? [effects] : [...effects] }).axes.accessMode;
}
