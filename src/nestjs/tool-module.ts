import {
  Scope,
  type DynamicModule,
  type FactoryProvider,
  type ModuleMetadata,
  type Provider,
  type Type,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, ModuleRef } from '@nestjs/core';
import { invalidArgument } from '../core/issues.js';
import type { ToolExecutorOptions } from '../execution/executor-options.js';
import { ToolExecutor } from '../execution/tool-executor.js';
import { ToolMetadataRegistry, type RegistryOptions } from '../registry/tool-metadata-registry.js';
import type { Policy } from '../safety/calls.js';
import { metadataOf } from '../tool/find-definitions.js';
import { isToolDefinition } from '../tool/tool-definition.js';

/** The options of the registry and the executor that the module provides. */
export interface ToolModuleOptions
  extends Omit<RegistryOptions, 'resolve'>, Omit<ToolExecutorOptions, 'registry' | 'policy'> {
  /**
   * The policy that decides on every call, or a function that creates it for the registry.
   * @default new SafetyPolicy({ registry })
   */
  readonly policy?: Policy | ((registry: ToolMetadataRegistry) => Policy);
}

/** The modules whose tools are registered. */
interface Included {
  /** The module classes whose providers are registered as tools. @default all modules */
  readonly include?: readonly Type<unknown>[];
}

/** Options created by a factory in the application, as in other Nest modules. */
export type ToolModuleAsyncOptions = Included &
  Pick<ModuleMetadata, 'imports'> &
  Pick<FactoryProvider<ToolModuleOptions>, 'inject' | 'useFactory'>;

/** The injection token of the options. */
const OPTIONS = Symbol('options of ToolModule');

/**
 * A global NestJS module that provides a `ToolMetadataRegistry` and a `ToolExecutor`. Import the
 * module once.
 *
 * Before the registry is injected anywhere, it already contains the tools of all providers with
 * decorated classes and of all values that are instances of them. Instances that a factory returns
 * behind another token are added when the application has created all its providers. Nest creates
 * the instances that calls run on. All calls share one instance. If the provider or one of its
 * dependencies has request or transient scope, each call gets a new instance instead. The executor
 * is closed after the application has shut down.
 *
 * ```ts
 * @Module({ imports: [ToolModule.forRoot({ timeoutMs: 5_000 })], providers: [Database, Notes] })
 * class AppModule {}
 * ```
 */
export class ToolModule {
  /**
   * Returns the module with these options. The application doesn't start if an option is invalid,
   * if two tools have the same name, or if the module is imported with options a second time.
   */
  static forRoot({ include, ...options }: ToolModuleOptions & Included = {}): DynamicModule {
    return moduleWith({ provide: OPTIONS, useValue: options }, [], include);
  }

  /**
   * Returns the module with options from `useFactory`, which can be async and receives the
   * dependencies listed in `inject`.
   */
  static forRootAsync(options: ToolModuleAsyncOptions): DynamicModule {
    const { imports = [], inject = [], useFactory, include } = options;
    return moduleWith({ provide: OPTIONS, inject, useFactory }, imports, include);
  }
}

function moduleWith(
  options: Provider,
  imports: NonNullable<ModuleMetadata['imports']>,
  include: Included['include'],
): DynamicModule {
  return {
    module: ToolModule,
    global: true,
    imports: [DiscoveryModule, ...imports],
    providers: [
      options,
      {
        provide: ProvidedTools,
        inject: [OPTIONS, DiscoveryService, ModuleRef],
        useFactory: (
          options: ToolModuleOptions,
          discovery: DiscoveryService,
          moduleRef: ModuleRef,
        ) => new ProvidedTools(options, discovery, moduleRef, include),
      },
      {
        provide: ToolMetadataRegistry,
        inject: [ProvidedTools],
        useFactory: ({ registry }: ProvidedTools) => registry,
      },
      {
        provide: ToolExecutor,
        inject: [OPTIONS, ToolMetadataRegistry],
        useFactory: (
          { now: _now, hints: _hints, vectors: _vectors, policy, ...rest }: ToolModuleOptions,
          registry: ToolMetadataRegistry,
        ) =>
          new ToolExecutor({
            ...rest,
            registry,
            ...(policy && { policy: typeof policy === 'function' ? policy(registry) : policy }),
          }),
      },
      {
        provide: Symbol('end of ToolModule'),
        inject: [ToolExecutor],
        // Up to this point, the application was still answering requests, and requests can call tools.
        useFactory: (executor: ToolExecutor) => ({
          onApplicationShutdown: () => executor.close(),
        }),
      },
    ],
    exports: [ToolMetadataRegistry, ToolExecutor],
  };
}

/** Registers the tools of an application's providers. */
class ProvidedTools {
  readonly registry: ToolMetadataRegistry;
  readonly #providers: () => ReturnType<DiscoveryService['getProviders']>;
  /** The tool classes among the providers, with their injection tokens. */
  readonly #tokens = new Map<unknown, Type<object>>();
  /** The registered instances whose classes Nest doesn't know. */
  readonly #instances = new Set<object>();

  constructor(
    { now, hints, vectors }: ToolModuleOptions,
    discovery: DiscoveryService,
    moduleRef: ModuleRef,
    include: Included['include'],
  ) {
    assertOnlyModule(discovery);
    this.#providers = () => discovery.getProviders(include && { include: [...include] });
    this.registry = new ToolMetadataRegistry({
      ...(now && { now }),
      ...(hints && { hints }),
      ...(vectors && { vectors }),
      resolve: (Class) => instanceFor(moduleRef, this.#tokens.get(Class) ?? Class),
    });
    this.#registerClasses();
    this.#registerInstances();
  }

  /** Registers what factories have returned meanwhile. Nest calls this when all instances exist. */
  onModuleInit(): void {
    this.#registerInstances();
  }

  #registerClasses(): void {
    for (const { token, metatype } of this.#providers()) {
      // If a factory or a value replaces the class, the token is the tool class.
      const Class = [metatype, token].find((each) => metadataOf(each).length > 0);
      if (Class) this.#tokens.set(Class, token as Type<object>);
    }
    this.registry.registerAll(this.#tokens.keys() as Iterable<Type<object>>);
  }

  /** Registers values and results of factories that Nest knows only by a token. */
  #registerInstances(): void {
    for (const { instance } of this.#providers() as Iterable<{ readonly instance: unknown }>) {
      if (typeof instance !== 'object' || instance === null || this.#instances.has(instance))
        continue;
      if (isToolDefinition(instance)) {
        this.#instances.add(instance);
        this.registry.register(instance);
        continue;
      }
      const Class: unknown = (Object.getPrototypeOf(instance) as object | null)?.constructor;
      if (this.#tokens.has(Class) || metadataOf(Class).length === 0) continue;
      this.#instances.add(instance);
      this.registry.register(instance);
    }
  }
}

/** Refuses a second module, because Nest would inject the registry of either one. */
function assertOnlyModule(discovery: DiscoveryService): void {
  const count = discovery.getProviders().filter(({ token }) => token === OPTIONS).length;
  if (count > 1)
    throw invalidArgument(
      'one ToolModule in an application',
      count,
      'Import it once, in the root module. Its registry and its executor are global.',
    );
}

/**
 * Returns a provider's only instance, or a promise for a new instance if the provider's scope is
 * narrower than the application.
 */
function instanceFor(moduleRef: ModuleRef, token: Type<object>): unknown {
  return moduleRef.introspect(token).scope === Scope.DEFAULT
    ? moduleRef.get(token, { strict: false })
    : moduleRef.resolve(token, undefined, { strict: false });
}
