import { ToolError } from '../core/errors.js';
import { describeValue } from '../core/plain-data.js';
import { classOptions, methodOptions } from './decoration-store.js';
import type { ResolvedOptions } from './metadata/tool-metadata.js';
import type { ToolOptions } from './metadata/tool-options.js';
import { createDefinition, isToolDefinition, type Execute, type ToolDefinition } from './tool-definition.js';

/** What a registry accepts: a definition, a decorated class or toolkit class, or an instance of one. */
export type ToolSource = ToolDefinition | (abstract new (...args: never[]) => unknown) | object;

/**
 * The tools that a value stands for; never none.
 *
 * A class is not instantiated here: its instance is made when a tool of it first runs, or is asked what a call touches,
 * without arguments.
 *
 * @throws ToolError `NOT_A_TOOL` when there is no tool in it, with what to do.
 */
export function findDefinitions(source: unknown): readonly ToolDefinition[] {
  if (isToolDefinition(source)) return [source];
  const found = typeof source === 'function' ? fromClass(source) : typeof source === 'object' && source !== null ? fromInstance(source) : [];
  if (found.length === 0) {
    throw new ToolError(
      'NOT_A_TOOL',
      `Expected a tool (made with defineTool, or a class or instance decorated with @tool), found ${typeof source === 'function' ? `the undecorated ${source.name || 'function'}` : describeValue(source)}. ` +
        'Wrap plain options in defineTool({…}); decorate classes or methods with @tool({…})',
    );
  }
  return found;
}

function fromClass(constructor: object): ToolDefinition[] {
  let instance: object | undefined;
  const lazily = () => (instance ??= new (constructor as new () => object)());
  return [...definitionsOn(constructor, lazily), ...staticDefinitions(constructor)];
}

function fromInstance(instance: object): ToolDefinition[] {
  const constructor: unknown = (Object.getPrototypeOf(instance) as object | null)?.constructor;
  if (typeof constructor !== 'function') return [];
  return definitionsOn(constructor, () => instance);
}

function definitionsOn(constructor: object, instance: () => object): ToolDefinition[] {
  const options = classOptions(constructor);
  const { prototype } = constructor as { readonly prototype: object };
  const own = options === undefined ? [] : [createDefinition(bound(options, instance), workOf(prototype, 'execute', instance))];
  return [...own, ...[...methodOptions(constructor, 'instance')].map(([key, each]) => createDefinition(bound(each, instance), workOf(prototype, key, instance)))];
}

/** The options with `conflictKeys` called on the instance, which knows what a path of its inputs means. */
function bound({ declared, metadata }: ResolvedOptions, instance: () => object): ResolvedOptions {
  const { conflictKeys } = declared;
  if (conflictKeys === undefined) return { declared, metadata };
  const onInstance: NonNullable<ToolOptions['conflictKeys']> = (input) => conflictKeys.call(instance(), input);
  return { declared: { ...declared, conflictKeys: onInstance }, metadata: { ...metadata, conflictKeys: onInstance } };
}

function staticDefinitions(constructor: object): ToolDefinition[] {
  return [...methodOptions(constructor, 'static')].map(([key, each]) => createDefinition(each, workOf(constructor, key, () => constructor)));
}

/** A function that calls a method, and takes as many parameters: lint sees in them whether it reads its context. */
function workOf(declaredOn: object, key: PropertyKey, holder: () => object): Execute {
  const work: Execute = (input, context) => (holder() as Record<PropertyKey, Execute>)[key]!(input, context);
  const method: unknown = Reflect.get(declaredOn, key);
  return Object.defineProperty(work, 'length', { value: typeof method === 'function' ? method.length : work.length });
}
