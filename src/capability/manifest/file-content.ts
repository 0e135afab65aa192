import { type ManifestFile, readTextFile } from './manifest-files.js';
import { type CapabilityFinding, type ManifestIssue, wholeFinding } from './manifest-issue.js';
import { type ExecuteOf, readManifest, type ReadTool } from './read-manifest.js';
import { readEntries } from './read-entries.js';
import type { RawWork } from './read-work.js';

/** The content of a manifest file: tools, skills, jobs or tasks. */
export interface FileContent {
  readonly owner: string | null;
  readonly file: string;
  /** The usable tools. */
  readonly tools: readonly ReadTool[];
  readonly work: readonly RawWork[];
  readonly findings: readonly ManifestIssue[];
  /** The number of entries, usable or not. */
  readonly total: number;
}

const KINDS = { skills: 'skill', jobs: 'job', tasks: 'task' } as const;

/** Parses the text of a file. */
export function parseFile(
  { file, owner, kind }: Pick<ManifestFile, 'file' | 'owner' | 'kind'>,
  read: Awaited<ReturnType<typeof readTextFile>>,
  executeOf: ExecuteOf,
): FileContent {
  const empty = { owner, file, tools: [], work: [], findings: [], total: 0 };
  if ('fault' in read)
    return { ...empty, findings: [wholeFinding(owner, file, { message: read.fault })] };
  if (kind === 'tools') {
    const { entries, issues, total } = readManifest(read.text, { file, owner, executeOf });
    return { ...empty, tools: entries, findings: issues, total };
  }
  const { entries, issues, total } = readEntries(
    read.text,
    KINDS[kind],
    { owner, file },
    (raw) => ({
      ...raw,
      kind: KINDS[kind],
    }),
  );
  return { ...empty, work: entries, findings: issues, total };
}

/** Reads files one after the other. Never rejects. */
export async function readFiles(
  files: readonly ManifestFile[],
  executeOf: ExecuteOf,
): Promise<readonly FileContent[]> {
  const contents: FileContent[] = [];
  for (const file of files)
    contents.push(parseFile(file, await readTextFile(file.path), executeOf));
  return contents;
}

export function hasErrors(findings: readonly CapabilityFinding[]): boolean {
  return findings.some(({ severity }) => severity === 'error');
}
