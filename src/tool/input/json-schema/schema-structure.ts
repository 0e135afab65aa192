import type { Issue } from '../../../core/errors.js';
import { subschemasOf, type SchemaNode, type ScreenedSchema, type Subschema } from './schema-node.js';

/** Schemas that a schema may stand for when its references are written out. */
const MAX_EXPANDED = 10_000;
/** Schemas that lead from one to the next: each is a level of recursion here. */
const MAX_CHAIN = 500;
/** The same for schemas that look at one value: the validator recurses through them at each of the value's 64 levels. */
const MAX_SAME = 48;

/** Keywords under which accepting more inside means accepting something else, or less, outside. */
const TURNING: ReadonlySet<string> = new Set(['not', 'if', 'oneOf']);

/**
 * What is wrong with how the schemas of a screened schema refer to each other.
 *
 * Found are references that come back to themselves without a step into the value (checking would never end), schemas
 * that stand for more than 10,000 when written out (22 definitions of which each uses the next twice stand for four
 * million), and dropped patterns in places where they would turn an answer around.
 */
export function structureIssues(schema: ScreenedSchema, weakened: ReadonlySet<SchemaNode>): readonly Issue[] {
  const inside = new Map<SchemaNode, readonly Subschema[]>();
  const partsOf = (node: SchemaNode) => {
    const parts = inside.get(node) ?? subschemasOf(node, schema.targets);
    inside.set(node, parts);
    return parts;
  };
  const expanded = expandedSize(schema.root, partsOf);
  if (expanded > MAX_EXPANDED) return [{ path: [], message: `expected at most ${MAX_EXPANDED} schemas when references are written out, in chains of at most ${MAX_CHAIN}, found more` }];
  if (longestChain([...inside.keys()], partsOf) > MAX_SAME) {
    return [{ path: [], message: `expected at most ${MAX_SAME} schemas inside each other for one and the same value, found more, or a reference that comes back to itself without a step into the value` }];
  }
  if (weakened.size > 0 && isTurned(schema.root, partsOf, weakened)) {
    return [{ path: [], message: `expected only patterns that are known to be safe inside ${[...TURNING].join(', ')} and contains with maxContains, found another; without it other values would be accepted` }];
  }
  return [];
}

type PartsOf = (node: SchemaNode) => readonly Subschema[];

/** How many schemas a node stands for. A recursive reference counts as one: inputs end, and the work on them is bounded. */
function expandedSize(root: SchemaNode, partsOf: PartsOf): number {
  const sizes = new Map<SchemaNode, number>();
  const sizeOf = (node: SchemaNode, depth: number): number => {
    const known = sizes.get(node);
    if (known !== undefined) return known;
    if (depth > MAX_CHAIN) return Infinity;
    sizes.set(node, 1);
    let size = 1;
    for (const part of partsOf(node)) size += sizeOf(part.node, depth + 1);
    sizes.set(node, size);
    return size;
  };
  return sizeOf(root, 0);
}

/** The most schemas inside each other that look at the same value; infinite for one that reaches itself. */
function longestChain(nodes: readonly SchemaNode[], partsOf: PartsOf): number {
  const lengths = new Map<SchemaNode, number>();
  const lengthFrom = (node: SchemaNode): number => {
    const known = lengths.get(node);
    if (known !== undefined) return known;
    lengths.set(node, Infinity); // While it is open, whoever comes back here has found a circle.
    let longest = 0;
    for (const part of partsOf(node)) if (part.same) longest = Math.max(longest, lengthFrom(part.node));
    lengths.set(node, longest + 1);
    return longest + 1;
  };
  return nodes.reduce((longest, node) => Math.max(longest, lengthFrom(node)), 0);
}

/** Whether a node that lost a pattern is reached through a keyword that turns its answer around. */
function isTurned(root: SchemaNode, partsOf: PartsOf, weakened: ReadonlySet<SchemaNode>): boolean {
  const seen = [new Set<SchemaNode>(), new Set<SchemaNode>()] as const;
  const visit = (node: SchemaNode, turned: boolean): boolean => {
    if (turned && weakened.has(node)) return true;
    const visited = seen[turned ? 1 : 0];
    if (visited.has(node)) return false;
    visited.add(node);
    return partsOf(node).some((part) => visit(part.node, turned || TURNING.has(part.keyword) || (part.keyword === 'contains' && node['maxContains'] !== undefined)));
  };
  return visit(root, false);
}
