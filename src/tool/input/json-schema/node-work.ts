import type { SchemaNode } from './schema-node.js';

type Members<T> = readonly (readonly [name: string, value: T])[];

/**
 * What the checks of one schema cost, worked out once; in nanoseconds as measured.
 *
 * All of a kind have one shape: the counter reads thousands of them per check.
 */
export interface NodeWork {
  /** One visit, with the errors of every keyword that does not look inside the value. */
  readonly visit: number;
  /** Schemas for the same value. What a branch has evaluated is copied when it fits; the rest shares with its parent. */
  readonly branches: readonly NodeWork[];
  readonly sharing: readonly NodeWork[];
  readonly dependents: Members<NodeWork>;
  readonly properties: Members<NodeWork>;
  /** The names of `properties`. */
  readonly known: ReadonlySet<string>;
  /** Schemas for the names of members. */
  readonly names: readonly NodeWork[];
  readonly patternProperties: Members<NodeWork>;
  /** Schemas for members without one of their own. */
  readonly otherMembers: readonly NodeWork[];
  readonly firstItems: readonly NodeWork[];
  readonly items: readonly NodeWork[];
  /** Lists and objects are compared with each allowed value. */
  readonly allowed: number;
  readonly isUnique: boolean;
  readonly countsCharacters: boolean;
  readonly pattern: string | undefined;
}

/** One schema looking at one value: the validator reads 45 keywords and makes a list of errors. */
const VISIT = 230;
/** A branch: it keeps its own account of what was evaluated, and its errors are put behind one of the choice. */
const BRANCH = 300;
/** An error, and a property that is looked for. */
const ERROR = 90;
const PROPERTY = 30;
/** A character of a constant, which the error repeats, and a value that plain values are compared with. */
const CHARACTER = 8;
const VALUE = 6;
const BRANCHED: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf']);
const MULTIPLE = 1_200;
/** A pattern of names is made anew at each visit. */
const NAME_PATTERN = 400;

/** The work of a schema and of all that it reaches; schemas that refer to themselves give work that does. */
export function nodeWork(root: SchemaNode, targets: Readonly<Record<string, SchemaNode>>): NodeWork {
  const known = new Map<SchemaNode, NodeWork>();
  const workOf = (node: SchemaNode): NodeWork => {
    const before = known.get(node);
    if (before !== undefined) return before;
    const work: { -readonly [key in keyof NodeWork]: NodeWork[key] } = { ...NO_WORK, visit: visitOf(node) };
    known.set(node, work);
    for (const [keyword, value] of Object.entries(node)) {
      switch (keyword) {
        case '$ref':
          work.sharing = [...work.sharing, workOf(targets[value as string]!)];
          break;
        case 'not':
        case 'then':
        case 'else':
          work.sharing = [...work.sharing, workOf(value as SchemaNode)];
          break;
        case 'if':
          work.branches = [...work.branches, workOf(value as SchemaNode)];
          break;
        case 'allOf':
        case 'anyOf':
        case 'oneOf':
          work.branches = [...work.branches, ...(value as readonly SchemaNode[]).map(workOf)];
          break;
        case 'dependentSchemas':
        case 'dependencies':
          work.dependents = [...work.dependents, ...membersOf(value, workOf)];
          break;
        case 'properties':
          work.properties = membersOf(value, workOf);
          work.known = new Set(Object.keys(value as object));
          break;
        case 'patternProperties':
          work.patternProperties = membersOf(value, workOf);
          break;
        case 'propertyNames':
          work.names = [workOf(value as SchemaNode)];
          break;
        case 'additionalProperties':
        case 'unevaluatedProperties':
          work.otherMembers = [...work.otherMembers, workOf(value as SchemaNode)];
          break;
        case 'prefixItems':
        case 'items':
        case 'additionalItems':
        case 'unevaluatedItems':
        case 'contains':
          if (Array.isArray(value)) work.firstItems = [...work.firstItems, ...(value as readonly SchemaNode[]).map(workOf)];
          else work.items = [...work.items, workOf(value as SchemaNode)];
          break;
        case 'const':
          work.allowed += 1;
          break;
        case 'enum':
          work.allowed += (value as readonly unknown[]).length;
          break;
        case 'uniqueItems':
          work.isUnique = value === true;
          break;
        case 'minLength':
        case 'maxLength':
          work.countsCharacters = true;
          break;
        case 'pattern':
          work.pattern = value as string;
      }
    }
    return work;
  };
  return workOf(root);
}

const NO_WORK: NodeWork = {
  visit: 0,
  branches: [],
  sharing: [],
  dependents: [],
  properties: [],
  known: new Set(),
  names: [],
  patternProperties: [],
  otherMembers: [],
  firstItems: [],
  items: [],
  allowed: 0,
  isUnique: false,
  countsCharacters: false,
  pattern: undefined,
};

/** Lists of names among dependencies are no schemas. */
function membersOf(map: unknown, workOf: (node: SchemaNode) => NodeWork): Members<NodeWork> {
  return Object.entries(map as Readonly<Record<string, SchemaNode | readonly string[]>>).flatMap(([name, each]) => (Array.isArray(each) ? [] : [[name, workOf(each as SchemaNode)] as const]));
}

/** Every keyword that is there may add an error. */
function visitOf(node: SchemaNode): number {
  let work = VISIT;
  for (const [keyword, value] of Object.entries(node)) {
    if (keyword === 'const') work += JSON.stringify(value).length * CHARACTER;
    else if (keyword === 'enum') work += ERROR + (value as readonly unknown[]).length * VALUE;
    else if (keyword === 'required' || keyword === 'type') work += ERROR * (Array.isArray(value) ? value.length : 1);
    else if (keyword === 'dependentRequired' || keyword === 'dependencies') for (const names of Object.values(value as object)) work += ERROR * (1 + (Array.isArray(names) ? names.length : 0));
    else if (keyword === 'properties' || keyword === 'dependentSchemas') work += PROPERTY * Object.keys(value as object).length;
    else if (keyword === 'patternProperties') work += NAME_PATTERN * Object.keys(value as object).length;
    else if (Array.isArray(value) && BRANCHED.has(keyword)) work += BRANCH * value.length;
    else if (keyword === 'multipleOf') work += MULTIPLE;
    else work += PROPERTY;
  }
  return work;
}
