import type { ToolEntry } from '../../tool/tool-definition.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The credentials of a tool. No value of a variable is ever in it. */
export interface AuthStatus {
  readonly required: boolean;
  /** Says that a call can succeed, as far as the environment tells: scopes are for the service to judge. */
  readonly ready: boolean;
  /** The required variables that are not set. */
  readonly missing: readonly string[];
}

const NOT_REQUIRED: AuthStatus = Object.freeze({ required: false, ready: true, missing: Object.freeze([]) });

/**
 * Checks that the variables that a tool declares are set.
 *
 * If all are optional, any one is enough; so is an optional one of a tool with several providers, since another
 * provider may do with it.
 */
export function authStatusOf({ auth, providers }: ToolEntry, env: Environment): AuthStatus {
  if (auth?.required !== true) return NOT_REQUIRED;
  const isSet = (variable: string) => Object.hasOwn(env, variable) && Boolean(env[variable]);
  const variables = Object.entries(auth.env ?? {});
  const required = variables.flatMap(([variable, need]) => (need === 'required' ? [variable] : []));
  const missing = required.filter((variable) => !isSet(variable));
  const someOptional = variables.some(([variable, need]) => need === 'optional' && isSet(variable));
  const satisfied = required.length > 0 ? missing.length === 0 : someOptional || variables.length === 0;
  return Object.freeze({ required: true, ready: satisfied || (providers.length > 1 && someOptional), missing: Object.freeze(missing) });
}
