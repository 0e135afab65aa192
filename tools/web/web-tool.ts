import { Priority } from '../../src/index.js';
import { READING } from '../options/shared-options.js';
import { UrlWall } from '../walls/url-wall.js';
import { urlKey } from './web-answer.js';

/** Defaults for all web tools. */
export const WEB_TOOL = {
  ...READING,
  priority: Priority.MEDIUM,
  dangerLevel: 'low',
  executionCategory: 'network',
  costTier: 'medium',
  sideEffects: 'read_external_service',
  reads: ['untrusted'],
  sends: 'outside',
  category: 'web',
  stages: ['reading', 'analysis'],
  taskTypes: ['analysis', 'search'],
  timeoutMs: 20_000,
  conflictKeys: ({ url }: { readonly url: string }) => ({ reads: [urlKey(url)] }),
} as const;

/** The base class of the web tools, which all share one `UrlWall`. */
export class WebTool {
  constructor(protected readonly wall: UrlWall = new UrlWall()) {}
}
