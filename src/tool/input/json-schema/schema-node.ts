import type { PatternCost } from '../pattern/safe-pattern.js';
import { KEYWORDS } from './schema-keywords.js';

/**
 * One schema of a screened JSON Schema: only keywords that are known, of the right type, and safe to evaluate.
 *
 * `$ref` holds the id of another node. There are no boolean schemas: `true` became `{}` and `false` became `{not: {}}`.
 */
export interface SchemaNode {
  readonly $ref?: string;
  readonly [keyword: string]: unknown;
}

/** A screened schema: what the validator works on, and what was found on the way. */
export interface ScreenedSchema {
  readonly root: SchemaNode;
  /** The targets of references, under the ids that `$ref` holds. */
  readonly targets: Readonly<Record<string, SchemaNode>>;
  /** The costs of all patterns. */
  readonly patterns: ReadonlyMap<string, PatternCost>;
  /** Before draft 2019-09 what stands beside a `$ref` is ignored. */
  readonly draft: '7' | '2020-12';
}

/** A schema inside another one. */
export interface Subschema {
  readonly keyword: string;
  readonly node: SchemaNode;
  /** Whether it looks at the same value as the schema around it. */
  readonly same: boolean;
}

/** The schemas directly inside a node, the target of its reference included. */
export function subschemasOf(node: SchemaNode, targets: Readonly<Record<string, SchemaNode>>): readonly Subschema[] {
  const found: Subschema[] = [];
  if (node.$ref !== undefined) found.push({ keyword: '$ref', node: targets[node.$ref]!, same: true });
  for (const [keyword, value] of Object.entries(node)) {
    const kind = KEYWORDS.get(keyword);
    if (keyword !== 'patternProperties' && (kind === undefined || !('schemas' in kind))) continue;
    const same = kind !== undefined && 'schemas' in kind && kind.of === 'same';
    const several = Array.isArray(value) || ['properties', 'patternProperties', 'dependentSchemas', 'dependencies'].includes(keyword);
    const nodes = several ? Object.values(value as object).filter((each) => !Array.isArray(each)) : [value];
    for (const each of nodes) found.push({ keyword, node: each as SchemaNode, same });
  }
  return found;
}

