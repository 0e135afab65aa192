// Only the summary and its items have names of the package. Types of their parts stand where they are used, and other
// files name them by their place: so users can export a part without a name of its own.

interface ItemWire {
  readonly name: string;
  readonly persona: string | null;
  readonly source: string;
  /** The fit of the item to the requesting persona, with the reason. */
  readonly compatibility: {
    /** The owner; `null` for shared items. */
    readonly persona: string | null;
    readonly persona_specific: boolean;
    /**
     * Says that the requesting persona may use it: it owns it or it is shared, and the allow-list admits it. True
     * without a persona.
     */
    readonly matches_request: boolean;
    /** The only personas that may use it; empty when all may, unless `matches_request` says otherwise. */
    readonly allowlist: readonly string[];
  };
}

interface WorkWire extends ItemWire {
  readonly required_tools: readonly string[];
  /** The references that lead nowhere. */
  readonly unresolved: Readonly<Record<'skills' | 'tools' | 'tasks', readonly string[]>>;
}

/** A tool in a summary; times in seconds since 1970. */
export interface ToolWire extends ItemWire {
  readonly version: string | null;
  readonly capabilities: readonly string[];
  readonly capability_tags: readonly string[];
  readonly auth_scopes: readonly string[];
  /** The state of the credentials; names of variables, never their values. */
  readonly auth: {
    readonly required: boolean;
    readonly ready: boolean;
    readonly missing: readonly string[];
  };
  readonly health: {
    readonly tool: CallsWire & { readonly samples?: Samples };
    readonly providers: Readonly<
      Record<
        string,
        {
          readonly metrics: Omit<JobWire['health']['job'], 'abandoned'>;
          /** The counts since counting began, and the state of the provider. */
          readonly router: {
            readonly successes: number;
            readonly failures: number;
            readonly consecutive_failures: number;
            readonly failure_rate: number | null;
            readonly last_success: number | null;
            readonly last_failure: number | null;
            readonly last_check: number | null;
            readonly backoff_until: number | null;
          };
          readonly last_call: Invocation | null;
          readonly samples?: Samples;
        }
      >
    >;
    readonly last_invocation: (Invocation & { readonly provider: string | null }) | null;
    /** The provider that answered the last successful call. */
    readonly last_success_provider: string | null;
  };
  readonly providers: readonly Readonly<Record<string, unknown>>[];
}

/** A skill in a summary. */
export interface SkillWire extends WorkWire {
  readonly version: string;
  readonly capability_tags: readonly string[];
  readonly required_capabilities: readonly string[];
}

/** A task in a summary. */
export interface TaskWire extends WorkWire {
  readonly summary: string;
  readonly required_skills: readonly string[];
  readonly tags: readonly string[];
}

/** A job in a summary; times in seconds since 1970. */
export interface JobWire extends WorkWire {
  readonly summary: string;
  readonly description: string | null;
  readonly personas: readonly string[];
  readonly required_skills: readonly string[];
  readonly required_capabilities: readonly string[];
  readonly available: boolean;
  readonly health: {
    /** The last calls in numbers; `null` for numbers that need calls when there are none. */
    readonly job: {
      readonly total: number;
      readonly success: number;
      readonly failure: number;
      readonly success_rate: number | null;
      readonly average_latency_ms: number | null;
      readonly p95_latency_ms: number | null;
      readonly last_sample_at: number | null;
      /** Calls whose work still ran when they were answered. */
      readonly abandoned: number;
    };
    /** The last run. */
    readonly last_invocation: Invocation | null;
  };
}

/** One call; the time in seconds since 1970. */
type Invocation = {
  readonly success: boolean;
  readonly latency_ms: number;
  readonly timestamp: number;
};

/** The calls behind the numbers, the oldest first; only in answers about one tool. */
type Samples = readonly {
  readonly at: number;
  readonly success: boolean;
  readonly latency_ms: number;
}[];

export type CallsWire = JobWire['health']['job'];
export type MetricsWire = Omit<CallsWire, 'abandoned'>;
export type ToolHealthWire = ToolWire['health'];
export type ProviderHealthWire = ToolHealthWire['providers'][string];
export type SampleWire = Samples[number];
export type CompatibilityWire = ItemWire['compatibility'];

/** The summary of what a persona, or everyone, can do: plain data in snake_case, for dashboards and discovery APIs. */
export interface CapabilitySummary {
  readonly revision: number;
  readonly persona: string | null;
  readonly tools: readonly ToolWire[];
  readonly skills: readonly SkillWire[];
  readonly tasks: readonly TaskWire[];
  readonly jobs: readonly JobWire[];
}
