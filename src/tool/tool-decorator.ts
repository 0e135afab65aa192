import { ToolError } from '../core/errors.js';
import { describeValue } from '../core/plain-data.js';
import { storeOnClass, storeOnLegacyMethod, storeOnStandardMethod } from './decoration-store.js';
import type { InputOf, SchemaInput, ToolSchema } from './schema/standard-schema.js';
import type { Execute } from './tool-definition.js';
import { resolveMetadata } from './metadata/tool-metadata.js';
import type { ToolOptions } from './metadata/tool-options.js';

/** A class with a fitting `execute`. A property of function type: a method signature would also accept stricter inputs. */
export interface Executable<In, Out> {
  execute: Execute<In, Out>;
}

// `never` makes the constructor's own parameters irrelevant.
type Constructor<T> = abstract new (...args: never[]) => T;

/** A decorator of classes and methods, in both decorator modes; a class with `manual: true` needs no `execute`. */
export interface ToolDecorator<In, Out, Manual = false> {
  <This, Method extends Execute<In, Out>>(method: Method, context: ClassMethodDecoratorContext<This, Method>): void;
  <Class extends Constructor<Manual extends true ? object : Executable<In, Out>>>(target: Class, context?: ClassDecoratorContext<Class>): void;
  <Method extends Execute<In, Out>>(target: object, key: string | symbol, descriptor: TypedPropertyDescriptor<Method>): void;
}

/**
 * Declares a class with `execute` (a `manual` one needs none), or one method of a toolkit, as a tool.
 *
 * Works as a standard and as a legacy (`experimentalDecorators`) decorator. It registers nothing: hand the class or an
 * instance to a registry. Subclasses inherit the declaration unless they carry their own.
 *
 * ```ts
 * @tool({ name: 'greet', description: 'Greets a person', inputSchema: Input, accessMode: AccessMode.READONLY })
 * class Greet {
 *   execute({ name }: z.infer<typeof Input>) {
 *     return `Hello ${name}`;
 *   }
 * }
 * ```
 *
 * @throws ToolError `INVALID_METADATA` when an option is wrong, `INVALID_DECORATION` on anything but a class or a public method.
 */
export function tool<In extends ToolSchema, Out extends ToolSchema = ToolSchema, Manual extends boolean = false>(
  options: ToolOptions<In, Out> & { readonly manual?: Manual },
): ToolDecorator<InputOf<In>, SchemaInput<Out>, Manual> {
  const resolved = resolveMetadata(options);
  const { name } = resolved.metadata;
  return ((target: unknown, second?: unknown, descriptor?: unknown): void => {
    if (isStandardContext(second)) {
      if (second.kind === 'class') storeOnClass(target as object, resolved);
      else if (second.kind !== 'method') throw invalidDecoration(name, `a ${String((second as { kind: unknown }).kind)}`);
      else if (second.private) throw invalidDecoration(name, `the private method ${String(second.name)}`);
      else if (second.metadata === undefined) throw invalidDecoration(name, 'a method of a class defined before tooldex was imported (its Symbol.metadata is missing)');
      else storeOnStandardMethod(second.metadata, second.static ? 'static' : 'instance', second.name, resolved);
    } else if (second === undefined && typeof target === 'function') {
      storeOnClass(target, resolved);
    } else if ((typeof second === 'string' || typeof second === 'symbol') && isMethodDescriptor(descriptor)) {
      if (typeof target === 'function') storeOnLegacyMethod(target, 'static', second, resolved);
      else storeOnLegacyMethod((target as object).constructor, 'instance', second, resolved);
    } else {
      throw invalidDecoration(name, describeValue(second ?? target));
    }
  });
}

function isStandardContext(value: unknown): value is ClassDecoratorContext | ClassMethodDecoratorContext {
  return typeof value === 'object' && value !== null && 'kind' in value && 'addInitializer' in value;
}

function isMethodDescriptor(value: unknown): boolean {
  return typeof value === 'object' && value !== null && typeof (value as PropertyDescriptor).value === 'function';
}

function invalidDecoration(name: string, found: string): ToolError {
  return new ToolError('INVALID_DECORATION', `Tool "${name}": expected @tool on a class or a public method, got ${found}`, { details: { name } });
}
