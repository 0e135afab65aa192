// Only the summary and its items have names in the package. The types of their parts are written where they are used,
// so users can export a part without giving it a name.

interface ItemWire {
  readonly name: string;
  readonly persona: string | null;
  readonly source: string;
  /** The item's fit for the requesting persona, with the reason. */
  readonly compatibility: {
    /** The owner, or `null` for shared items. */
    readonly persona: string | null;
    readonly persona_specific: boolean;
    /**
     * True if the requesting persona may use it: it's shared or the persona's own, and its allow-list admits the
     * persona. True without a persona.
     */
    readonly matches_request: boolean;
    /** The only personas that may use it. Empty if all may, unless `matches_request` says otherwise. */
    readonly allowlist: readonly string[];
  };
}

interface WorkWire extends ItemWire {
  readonly required_tools: readonly string[];
  /** The references to things that don't exist. */
  readonly unresolved: Readonly<Record<'skills' | 'tools' | 'tasks', readonly string[]>>;
}

/** A tool in a summary. Times are in seconds since 1970. */
export interface ToolWire extends ItemWire {
  readonly version: string | null;
  readonly capabilities: readonly string[];
  readonly capability_tags: readonly string[];
  readonly auth_scopes: readonly string[];
  /** The state of the credentials, with names of variables and never their values. */
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
          /** The counts since the beginning, and the state of the provider. */
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

/** A job in a summary. Times are in seconds since 1970. */
export interface JobWire extends WorkWire {
  readonly summary: string;
  readonly description: string | null;
  readonly personas: readonly string[];
  readonly required_skills: readonly string[];
  readonly required_capabilities: readonly string[];
  readonly available: boolean;
  readonly health: {
    /** Numbers about the last calls. Those that need calls are `null` if there are none. */
    readonly job: {
      readonly total: number;
      readonly success: number;
      readonly failure: number;
      readonly success_rate: number | null;
      readonly average_latency_ms: number | null;
      readonly p95_latency_ms: number | null;
      readonly last_sample_at: number | null;
      /** The number of calls whose work went on after they were answered. */
      readonly abandoned: number;
    };
    /** The last run. */
    readonly last_invocation: Invocation | null;
  };
}

/** A call. The time is in seconds since 1970. */
type Invocation = {
  readonly success: boolean;
  readonly latency_ms: number;
  readonly timestamp: number;
};

/** The calls behind the numbers, the oldest first. Only answers about one tool have them. */
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

/** The summary of everything that a persona, or anyone, can use: plain data in snake_case for dashboards and discovery APIs. */
export interface CapabilitySummary {
  readonly revision: number;
  readonly persona: string | null;
  readonly tools: readonly ToolWire[];
  readonly skills: readonly SkillWire[];
  readonly tasks: readonly TaskWire[];
  readonly jobs: readonly JobWire[];
}
